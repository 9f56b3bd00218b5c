package drbd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Down takes a resource down: disconnect, detach, forget. One that is not up
// is nil. It needs no file.
//
//	drbdsetup down RESOURCE
func (t *Tool) Down(ctx context.Context, resource string) error {
	err := t.setup(ctx, "down", resource)
	if errors.Is(err, ErrUnknownResource) {
		return nil
	}
	return err
}

// Primary makes this node Primary. Refusals: ErrOtherPrimary, ErrNoQuorum,
// ErrNoUpToDate.
//
//	drbdsetup primary RESOURCE
//
// On DRBD 8.4, once per device:
//
//	drbdsetup primary MINOR
func (t *Tool) Primary(ctx context.Context, r Ref) error { return t.role(ctx, "primary", r) }

// Secondary makes this node Secondary. ErrHeldOpen: somebody has a device
// open; Openers names who, on DRBD 9.
//
//	drbdsetup secondary RESOURCE
//
// On DRBD 8.4, once per device:
//
//	drbdsetup secondary MINOR
func (t *Tool) Secondary(ctx context.Context, r Ref) error { return t.role(ctx, "secondary", r) }

func (t *Tool) role(ctx context.Context, verb string, r Ref, options ...string) error {
	if !t.ver.Is84() {
		return t.setup(ctx, verb, r.Name, options...)
	}
	for _, m := range r.Minors {
		if err := t.do(ctx, append([]string{"drbdsetup", verb, m.String()}, options...)...); err != nil {
			return err
		}
	}
	return nil
}

// InitialSync says how the first data generation of a new resource comes to
// be on all its diskful nodes.
type InitialSync int

// The kinds of initial sync.
const (
	// SkipInitialSync declares all disks equal. Only for backing storage
	// that reads as zeros everywhere.
	SkipInitialSync InitialSync = iota
	// FullInitialSync copies this node's disk to all others.
	FullInitialSync
)

// NewCurrentUUID makes the first data generation: the last step of
// formation, on one node only, all of whose peers are Connected, all disks
// Inconsistent, all just created. The caller must have seen to that:
// DRBD 9 obeys on an unconnected device too and makes it UpToDate alone.
// ErrNotFresh: connected, and not just created.
//
//	drbdsetup new-current-uuid MINOR --clear-bitmap|--force-resync
//
// DRBD 8.4 knows --clear-bitmap only. It refuses that while Connecting, and
// StandAlone or without any peer it exits 0 and leaves the disk Inconsistent:
// a resource without peers needs FullInitialSync there, which is
//
//	drbdsetup primary MINOR --force
//
// which makes this node's disk UpToDate and Primary, leaves the peer's
// Inconsistent, and starts a full resync. The caller demotes it with
// Secondary when the device is seen as SyncSource (the resync goes on), and
// again while that answers ErrHeldOpen: a new Primary is often opened for a
// moment by udev. The same command obeys without a peer.
// invalidate-remote is no way there: it needs an UpToDate disk.
func (t *Tool) NewCurrentUUID(ctx context.Context, m Minor, s InitialSync) error {
	switch {
	case s == SkipInitialSync:
		return t.do(ctx, "drbdsetup", "new-current-uuid", m.String(), "--clear-bitmap")
	case t.ver.Is84():
		return t.do(ctx, "drbdsetup", "primary", m.String(), "--force")
	}
	return t.do(ctx, "drbdsetup", "new-current-uuid", m.String(), "--force-resync")
}

// Detach takes the backing disk from a device, which goes on Diskless.
//
//	drbdsetup detach MINOR
func (t *Tool) Detach(ctx context.Context, m Minor) error {
	return t.do(ctx, "drbdsetup", "detach", m.String())
}

// DetachDiskless does the same to a device that is to have no disk from now on: its peers
// no longer take it for one whose disk failed. DRBD 9 only.
//
//	drbdsetup detach MINOR --diskless
func (t *Tool) DetachDiskless(ctx context.Context, m Minor) error {
	if t.ver.Is84() {
		return unsupported("be without a disk")
	}
	return t.do(ctx, "drbdsetup", "detach", m.String(), "--diskless")
}

// Resize lets a device grow to what all its backing disks hold, and
// remembers the size of this one. Only when every diskful peer is Connected
// and UpToDate: ErrResync else. With a backing disk that did not grow on all
// nodes it succeeds and changes nothing.
//
//	drbdsetup resize MINOR
//	drbdsetup check-resize MINOR
func (t *Tool) Resize(ctx context.Context, m Minor) error {
	if err := t.do(ctx, "drbdsetup", "resize", m.String()); err != nil {
		return err
	}
	return t.RememberSize(ctx, m)
}

// ResizeAlone does so for a device that has no peer: DRBD 8.4 takes nobody for a peer that may not have the space.
//
//	drbdsetup resize MINOR --assume-peer-has-space
//	drbdsetup check-resize MINOR
func (t *Tool) ResizeAlone(ctx context.Context, m Minor) error {
	if !t.ver.Is84() {
		return t.Resize(ctx, m)
	}
	if err := t.do(ctx, "drbdsetup", "resize", m.String(), "--assume-peer-has-space"); err != nil {
		return err
	}
	return t.RememberSize(ctx, m)
}

// HoldSize keeps a device at the bytes that it has, whatever its disk could hold, and moves the metadata to the end of a disk that has
// grown. The peer of a device that is held keeps to that too, from when they meet on. Resize ends it, on both. DRBD 8.4 only: without
// it two that meet may each take another size.
//
//	drbdsetup resize MINOR --size=SECTORSs
//	drbdsetup check-resize MINOR
func (t *Tool) HoldSize(ctx context.Context, m Minor, size int64) error {
	if !t.ver.Is84() {
		return fmt.Errorf("hold the size of %s: %w: DRBD 9 keeps it", m, errors.ErrUnsupported)
	}
	if size <= 0 || size%sectorSize != 0 {
		return invalid("size", strconv.FormatInt(size, 10), "want whole sectors")
	}
	if err := t.do(ctx, "drbdsetup", "resize", m.String(), "--size="+strconv.FormatInt(size/sectorSize, 10)+"s"); err != nil {
		return err
	}
	return t.RememberSize(ctx, m)
}

// RememberSize notes how large the backing disk of an attached device is, for
// CheckResize to find the metadata by should the disk grow unseen.
//
//	drbdsetup check-resize MINOR
func (t *Tool) RememberSize(ctx context.Context, m Minor) error {
	return t.do(ctx, "drbdsetup", "check-resize", m.String())
}

// ResumeIO lets frozen I/O go on.
//
//	drbdsetup resume-io MINOR
func (t *Tool) ResumeIO(ctx context.Context, m Minor) error {
	return t.do(ctx, "drbdsetup", "resume-io", m.String())
}

// TellPeer lets the peer hear anew how a device is here, and changes nothing else. Resyncs are paused for a moment: should it be cut off,
// they stay so until it has run again. DRBD 8.4 only.
//
//	drbdsetup pause-sync MINOR
//	drbdsetup resume-sync MINOR
func (t *Tool) TellPeer(ctx context.Context, m Minor) error {
	if !t.ver.Is84() {
		return fmt.Errorf("tell the peer of %s anew: %w: DRBD 9 needs no such thing", m, errors.ErrUnsupported)
	}
	for _, verb := range []string{"pause-sync", "resume-sync"} {
		if err := t.do(ctx, "drbdsetup", verb, m.String()); err != nil && !errors.Is(err, ErrAlreadyPaused) {
			return err
		}
	}
	return nil
}

// Verify starts comparing all of one volume with one peer; what differs counts as
// OutOfSync when it is done. Without --start the kernel goes on where an earlier
// one was cut off.
//
//	drbdsetup verify RESOURCE NODE-ID VOLUME --start=0
//
// On DRBD 8.4:
//
//	drbdsetup verify MINOR --start=0
func (t *Tool) Verify(ctx context.Context, r Ref, peer NodeID, volume int) error {
	if !t.ver.Is84() {
		return t.setup(ctx, "verify", r.Name, peer.String(), strconv.Itoa(volume), "--start=0")
	}
	minor, err := r.minor(volume)
	if err != nil {
		return err
	}
	return t.do(ctx, "drbdsetup", "verify", minor.String(), "--start=0")
}

// ForcePrimary makes this node Primary with whatever its disks hold, which is UpToDate
// from then on; peers that are not connected count as Outdated. It gets round quorum and
// fencing: only when what is better is gone for good.
//
//	drbdsetup primary RESOURCE --force
//
// On DRBD 8.4, once per device:
//
//	drbdsetup primary MINOR --force
func (t *Tool) ForcePrimary(ctx context.Context, r Ref) error {
	return t.role(ctx, "primary", r, "--force")
}

// NewGeneration lets this node's disk be newer than the one of its peer, which is as good as
// its own: what differs between them is copied from here when they connect again. DRBD 8.4
// only, StandAlone, on a Secondary.
//
//	drbdsetup new-current-uuid MINOR
func (t *Tool) NewGeneration(ctx context.Context, m Minor) error {
	if !t.ver.Is84() {
		return fmt.Errorf("new-current-uuid of %s: %w: DRBD 9 repairs with RepairFrom", m, errors.ErrUnsupported)
	}
	return t.do(ctx, "drbdsetup", "new-current-uuid", m.String())
}

// Invalidate throws away what the local disk holds and copies all of it anew
// from a peer that is UpToDate.
//
//	drbdsetup invalidate MINOR
func (t *Tool) Invalidate(ctx context.Context, m Minor) error {
	return t.do(ctx, "drbdsetup", "invalidate", m.String())
}

// RepairFrom copies from one peer the blocks that Verify found different.
// DRBD 9 only; on DRBD 8.4 it is errors.ErrUnsupported.
//
//	drbdsetup invalidate MINOR --sync-from-peer-node-id=NODE-ID --reset-bitmap=no
func (t *Tool) RepairFrom(ctx context.Context, m Minor, peer NodeID) error {
	if t.ver.Is84() {
		return unsupported("repair single blocks")
	}
	return t.do(ctx, "drbdsetup", "invalidate", m.String(),
		"--sync-from-peer-node-id="+peer.String(), "--reset-bitmap=no")
}

// DelPeer removes the connection to a peer, connected or not, UpToDate or
// not: look before.
//
//	drbdsetup del-peer RESOURCE NODE-ID
//
// On DRBD 8.4, where a connection ends with its last disconnect:
//
//	drbdadm -c FILE disconnect RESOURCE
func (t *Tool) DelPeer(ctx context.Context, r Ref, peer NodeID) error {
	if !t.ver.Is84() {
		return t.setup(ctx, "del-peer", r.Name, peer.String())
	}
	err := t.Disconnect(ctx, r, peer)
	if errors.Is(err, ErrNoConnection) {
		return nil
	}
	return err
}

// ForgetPeer frees the bitmap slot of a peer that was removed with DelPeer;
// ErrAlreadyConnected while it was not. One never known is nil. DRBD 8.4 has
// one slot and nothing to forget.
//
//	drbdsetup forget-peer RESOURCE NODE-ID
func (t *Tool) ForgetPeer(ctx context.Context, resource string, peer NodeID) error {
	if t.ver.Is84() {
		return nil
	}
	return t.setup(ctx, "forget-peer", resource, peer.String())
}

// setup runs drbdsetup VERB RESOURCE ARGS.
func (t *Tool) setup(ctx context.Context, verb, resource string, args ...string) error {
	if err := checkName(resource); err != nil {
		return err
	}
	return t.do(ctx, append([]string{"drbdsetup", verb, resource}, args...)...)
}

// String gives the number as the tools want it.
func (m Minor) String() string { return strconv.Itoa(int(m)) }

// String gives the number as the tools want it.
func (n NodeID) String() string { return strconv.Itoa(int(n)) }
