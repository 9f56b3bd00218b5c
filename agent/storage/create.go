package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"rvol/lvm"
)

// Create makes a device, wiped as asked for, and activates it.
//
// Wiping happens outside the group's lock, for it can take hours; the tag that
// announces it is set with the device and taken off at the end, so that a crash
// in between is made up for by the next Create.
func (v *volumes) Create(ctx context.Context, s Spec) (Device, error) {
	var d Device
	err := s.check()
	if err == nil {
		err = v.Locks.Change(ctx, lvm.Path(v.VG, s.Name.String()), func() error {
			d, err = v.make(ctx, s)
			if err != nil || !slices.Contains(d.Tags, wipingTag) {
				return err
			}
			return v.wipe(ctx, s, &d)
		})
	}
	if err != nil {
		return Device{}, fmt.Errorf("create %s in %s: %w", s.Name, v.VG, err)
	}
	return d, nil
}

func (s Spec) check() error {
	if err := s.Name.Validate(); err != nil {
		return err
	}
	if len(s.Tags) == 0 {
		return fmt.Errorf("%w: a device needs tags", lvm.ErrBadArgument)
	}
	switch s.Wipe {
	case "", WipeNone, WipeDiscard, WipeZero:
		return nil
	}
	return fmt.Errorf("%w: wipe %q", lvm.ErrBadArgument, s.Wipe)
}

// make finds the device or creates it, and activates it.
func (v *volumes) make(ctx context.Context, s Spec) (Device, error) {
	var d Device
	err := v.Locks.Change(ctx, v.VG, func() error {
		lv, err := v.existing(ctx, s)
		created := errors.Is(err, lvm.ErrNotFound)
		if created {
			lv, err = v.fresh(ctx, s)
		}
		if err != nil {
			return err
		}
		if !lv.Active {
			if err := v.Tool.LVActivate(ctx, v.VG, lv.Name); err != nil {
				return err
			}
			if lv, err = v.existing(ctx, s); err != nil {
				return err
			}
		}
		d = view{}.device(lv)
		d.JustCreated = created
		return nil
	})
	return d, err
}

// existing is the volume of that name, if it is the one that s describes.
func (v *volumes) existing(ctx context.Context, s Spec) (lvm.LV, error) {
	seen, err := v.read(ctx)
	if err != nil {
		return lvm.LV{}, err
	}
	lv, ok := seen.report.LV(v.VG, s.Name.String())
	switch {
	case !ok:
		return lvm.LV{}, lvm.ErrNotFound
	case !lv.HasTags(s.Tags...):
		return lvm.LV{}, fmt.Errorf("%w: its tags are %q, ordered were %q", ErrForeign, lv.Tags, s.Tags)
	case !seen.holds(lv):
		return lvm.LV{}, fmt.Errorf("%w: it is of another kind (%q)", ErrForeign, lv.Layout)
	}
	return lv, nil
}

func (v *volumes) fresh(ctx context.Context, s Spec) (lvm.LV, error) {
	tags := s.Tags
	if v.wipes && s.Wipe != "" && s.Wipe != WipeNone {
		tags = append(slices.Clone(tags), wipingTag)
	}
	spec := lvm.LVSpec{VG: v.VG, Name: s.Name.String(), Size: s.Size, Tags: tags}
	if err := v.create(ctx, spec); err != nil {
		return lvm.LV{}, err
	}
	return v.existing(ctx, s)
}

// wipe makes a device that was never handed out forget its earlier owners.
func (v *volumes) wipe(ctx context.Context, s Spec, d *Device) error {
	err := lvm.ErrUnsupported
	if s.Wipe == WipeDiscard {
		err = v.Tool.Discard(ctx, d.Path)
	}
	if errors.Is(err, lvm.ErrUnsupported) {
		err = v.Tool.ZeroOut(ctx, d.Path)
	}
	if err != nil {
		return err
	}
	return v.Locks.Change(ctx, v.VG, func() error {
		if err := v.Tool.LVUntag(ctx, v.VG, s.Name.String(), wipingTag); err != nil {
			return err
		}
		lv, err := v.existing(ctx, s)
		*d = view{}.device(lv)
		d.JustCreated = true
		return err
	})
}
