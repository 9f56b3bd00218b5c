package drbd

import (
	"context"
	"errors"
	"strconv"
)

// Check asks drbdadm to read the file: does it parse, does this host stand
// in it, is its address here? What drbdadm prints holds the secret and is
// thrown away.
//
//	drbdadm -c FILE dump RESOURCE
func (t *Tool) Check(ctx context.Context, r Ref) error {
	_, err := t.adm(ctx, r, "dump", r.Name)
	return err
}

// Up brings a resource up: new-resource, new-minor, apply-al, attach, and
// connect to every peer of the file. It fails on a resource that is up; use
// Adjust there.
//
//	drbdadm -c FILE up RESOURCE
//
// A resource without peers on DRBD 8.4:
//
//	drbdadm -c FILE new-resource RESOURCE
//	drbdadm -c FILE sh-new-minor RESOURCE
//	drbdadm -c FILE attach RESOURCE
func (t *Tool) Up(ctx context.Context, r Ref) error {
	if t.ver.Is84() && r.Alone {
		return t.each(ctx, r, "new-resource", "sh-new-minor", "attach")
	}
	return t.each(ctx, r, "up")
}

// Adjust makes a resource what its file says, with as few commands as
// possible. It brings up what is down. Read DryAdjust first: it also removes
// what the file no longer names.
//
//	drbdadm -c FILE adjust RESOURCE
//
// A resource without peers on DRBD 8.4, where new-resource and new-minor are
// content with what is there; its other options are those of its last Up:
//
//	drbdadm -c FILE new-resource RESOURCE
//	drbdadm -c FILE sh-new-minor RESOURCE
//	drbdadm -c FILE attach RESOURCE/VOLUME      for each
//	drbdsetup disk-options MINOR --fencing=dont-care
func (t *Tool) Adjust(ctx context.Context, r Ref) error {
	if !t.ver.Is84() || !r.Alone {
		return t.each(ctx, r, "adjust")
	}
	if err := t.each(ctx, r, "new-resource", "sh-new-minor"); err != nil {
		return err
	}
	for volume, minor := range r.Minors {
		if err := t.Attach(ctx, r, volume); err != nil && !errors.Is(err, ErrAlreadyAttached) {
			return err
		}
		// The kernel keeps the policy that the last peer was there with, and would ask a helper that is gone.
		if err := t.do(ctx, "drbdsetup", "disk-options", minor.String(), "--fencing=dont-care"); err != nil {
			return err
		}
	}
	return nil
}

// DryAdjust tells which commands Adjust would run. A resource without peers
// on DRBD 8.4 gives none: Adjust takes nothing away there.
//
//	drbdadm -c FILE -d adjust RESOURCE
func (t *Tool) DryAdjust(ctx context.Context, r Ref) ([]Command, error) {
	if t.ver.Is84() && r.Alone {
		return nil, r.check()
	}
	out, err := t.adm(ctx, r, "-d", "adjust", r.Name)
	if err != nil {
		return nil, err
	}
	return ParseCommands(out)
}

// Attach joins the backing disk of one volume to its device, after the
// activity log was applied.
//
//	drbdadm -c FILE attach RESOURCE/VOLUME
//
// Look before: DRBD 9.3.3 panics some time after drbdsetup attach of an
// attached minor; drbdadm is protected (its apply-al refuses first).
func (t *Tool) Attach(ctx context.Context, r Ref, volume int) error {
	_, err := t.adm(ctx, r, "attach", r.Name+"/"+strconv.Itoa(volume))
	return err
}

// Connect starts connecting to one peer, again after a StandAlone.
// ErrAlreadyConnected says that DRBD is connecting by itself; DRBD 8.4 calls it
// ErrAddressInUse.
//
//	drbdsetup connect RESOURCE NODE-ID
//
// On DRBD 8.4, whose resource has one peer:
//
//	drbdadm -c FILE connect RESOURCE
func (t *Tool) Connect(ctx context.Context, r Ref, peer NodeID) error {
	if t.ver.Is84() {
		return t.each(ctx, r, "connect")
	}
	return t.setup(ctx, "connect", r.Name, peer.String())
}

// ConnectDiscarding connects like Connect and gives up what this node wrote
// since the two have differed: how a split brain ends, on the node whose data
// is not kept, which must be Secondary and not connected.
//
//	drbdsetup connect RESOURCE NODE-ID --discard-my-data
//
// On DRBD 8.4:
//
//	drbdadm -c FILE connect --discard-my-data RESOURCE
func (t *Tool) ConnectDiscarding(ctx context.Context, r Ref, peer NodeID) error {
	if t.ver.Is84() {
		_, err := t.adm(ctx, r, "connect", "--discard-my-data", r.Name)
		return err
	}
	return t.setup(ctx, "connect", r.Name, peer.String(), "--discard-my-data")
}

// Disconnect ends the connection to one peer and leaves it StandAlone.
//
//	drbdsetup disconnect RESOURCE NODE-ID
//
// On DRBD 8.4, where a connection that is gone answers ErrNoConnection:
//
//	drbdadm -c FILE disconnect RESOURCE
func (t *Tool) Disconnect(ctx context.Context, r Ref, peer NodeID) error {
	if t.ver.Is84() {
		return t.each(ctx, r, "disconnect")
	}
	return t.setup(ctx, "disconnect", r.Name, peer.String())
}

// each runs drbdadm with one verb after the other on the whole resource.
func (t *Tool) each(ctx context.Context, r Ref, verbs ...string) error {
	for _, verb := range verbs {
		if _, err := t.adm(ctx, r, verb, r.Name); err != nil {
			return err
		}
	}
	return nil
}
