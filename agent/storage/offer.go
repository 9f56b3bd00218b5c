package storage

import (
	"context"
	"fmt"
	"strings"

	"rvol/lvm"
)

// An Offer is an empty disk to be made into a volume group, with a thin pool if
// one is named.
type Offer struct {
	Device string // "/dev/sdb"
	VG     string
	Pool   string   // thin pool that takes all of the group; "" for none
	Tags   []string // of the group and the pool: what tells a second try from somebody else's group
}

// A SignatureError says what is on a disk that was offered as empty.
type SignatureError struct {
	Device     string
	Signatures []lvm.Signature
}

// Error names what was found, and what to do.
func (e *SignatureError) Error() string {
	types := make([]string, len(e.Signatures))
	for i, s := range e.Signatures {
		types[i] = fmt.Sprintf("%s at %s", s.Type, s.Offset)
	}
	return fmt.Sprintf("%s is not empty: %s; if nobody needs that, run: wipefs --all %s",
		e.Device, strings.Join(types, ", "), e.Device)
}

// Is makes it lvm.ErrSignature.
func (e *SignatureError) Is(target error) bool { return target == lvm.ErrSignature }

// CheckEmpty refuses a device on which blkid recognises anything.
func CheckEmpty(ctx context.Context, tool *lvm.Tool, device string) error {
	found, err := tool.Signatures(ctx, device)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return &SignatureError{Device: device, Signatures: found}
	}
	return nil
}

// MakeGroup makes the volume group of o, and its pool. It may be called again
// after a crash: a group that carries the tags of o is completed.
func MakeGroup(ctx context.Context, tool *lvm.Tool, locks *Locks, o Offer) error {
	err := fmt.Errorf("%w: an offer needs tags", lvm.ErrBadArgument)
	if len(o.Tags) > 0 {
		err = locks.Change(ctx, o.VG, func() error { return o.make(ctx, tool) })
	}
	if err != nil {
		return fmt.Errorf("make volume group %s of %s: %w", o.VG, o.Device, err)
	}
	return nil
}

func (o Offer) make(ctx context.Context, tool *lvm.Tool) error {
	r, err := tool.Report(ctx)
	if err != nil {
		return err
	}
	vg, ok := r.VG(o.VG)
	switch {
	case !ok:
		if err := CheckEmpty(ctx, tool, o.Device); err != nil {
			return err
		}
		if err := tool.VGCreate(ctx, o.VG, o.Device, o.Tags...); err != nil {
			return err
		}
	case !vg.HasTags(o.Tags...):
		return fmt.Errorf("%w, and was not made by this offer", lvm.ErrExists)
	}
	if o.Pool == "" {
		return nil
	}
	pool, ok := r.LV(o.VG, o.Pool)
	switch {
	case !ok:
		return tool.ThinPoolCreate(ctx, lvm.LVSpec{VG: o.VG, Name: o.Pool, Size: lvm.AllFree, Tags: o.Tags})
	case !pool.ThinPool() || !pool.HasTags(o.Tags...):
		return fmt.Errorf("%s/%s: %w, and was not made by this offer", o.VG, o.Pool, lvm.ErrExists)
	}
	return nil
}
