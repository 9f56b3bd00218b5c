package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rvol/lvm"
)

// volumes is what thick and thin backends have in common: all but the making.
type volumes struct {
	Config
	create func(context.Context, lvm.LVSpec) error
	// wipes tells whether new devices can show what others wrote.
	wipes bool
}

// Space tells how much there is.
func (v *volumes) Space(ctx context.Context) (Space, error) {
	r, err := v.look(ctx)
	if err != nil {
		return Space{}, err
	}
	return SpaceIn(v.Config, r.report)
}

// Devices lists the devices of this cluster.
func (v *volumes) Devices(ctx context.Context) ([]Device, error) {
	r, err := v.look(ctx)
	if err != nil {
		return nil, err
	}
	return DevicesIn(v.Config, r.report)
}

// look reads the group. A group that is stuck is not looked at: LVM's own lock
// on it would make us wait as well.
func (v *volumes) look(ctx context.Context) (view, error) {
	if err := v.Locks.Stuck(v.VG); err != nil {
		return view{}, err
	}
	return v.read(ctx)
}

func (v *volumes) read(ctx context.Context) (view, error) {
	began := time.Now()
	r, err := v.Tool.Report(ctx, v.VG)
	if errors.Is(err, lvm.ErrNotFound) {
		// Not wrapped: a group that is not there says nothing of its volumes.
		return view{}, fmt.Errorf("%w: %s", ErrUnavailable, err.Error())
	}
	if err != nil {
		return view{}, err
	}
	if v.Saw != nil {
		v.Saw(v.VG, r, began)
	}
	return v.see(r)
}

// Activate makes the device node appear.
func (v *volumes) Activate(ctx context.Context, id Identity) (Device, error) {
	return v.change(ctx, "activate", id, func(d Device) error {
		if d.Active {
			return nil
		}
		return v.Tool.LVActivate(ctx, v.VG, id.Name.String())
	})
}

// Grow makes the device at least size bytes large.
func (v *volumes) Grow(ctx context.Context, id Identity, size int64) (Device, error) {
	return v.change(ctx, "grow", id, func(d Device) error {
		if d.Size >= size {
			return nil
		}
		return v.Tool.LVExtend(ctx, v.VG, id.Name.String(), size)
	})
}

// change checks who the device is, does what is asked, and looks again.
func (v *volumes) change(ctx context.Context, verb string, id Identity, do func(Device) error) (Device, error) {
	var d Device
	err := v.exclusively(ctx, id.Name, func() error {
		before, err := v.identify(ctx, id)
		if err != nil {
			return err
		}
		if err := do(before); err != nil {
			return err
		}
		d, err = v.identify(ctx, id)
		return err
	})
	if err != nil {
		return Device{}, fmt.Errorf("%s %s in %s: %w", verb, id.Name, v.VG, err)
	}
	return d, nil
}

// exclusively runs f while nobody else deals with this device or changes its
// group.
func (v *volumes) exclusively(ctx context.Context, name lvm.Name, f func() error) error {
	if err := name.Validate(); err != nil {
		return err
	}
	return v.Locks.Change(ctx, lvm.Path(v.VG, name.String()), func() error {
		return v.Locks.Change(ctx, v.VG, f)
	})
}

// identify finds the device of id, or says why there is none.
func (v *volumes) identify(ctx context.Context, id Identity) (Device, error) {
	seen, err := v.read(ctx)
	if err != nil {
		return Device{}, err
	}
	lv, err := seen.find(id)
	if err != nil {
		return Device{}, err
	}
	return seen.device(lv), nil
}

// find returns the volume that id means: lvm.ErrNotFound when neither its name
// nor its UUID is there, ErrForeign when they do not belong together.
func (v view) find(id Identity) (lvm.LV, error) {
	if id.UUID == "" || len(id.Tags) == 0 {
		return lvm.LV{}, fmt.Errorf("%w: an order on %s needs UUID and tags", lvm.ErrBadArgument, id.Name)
	}
	lv, named := v.report.LV(v.VG, id.Name.String())
	if !named {
		i := slices.IndexFunc(v.report.LVs, func(lv lvm.LV) bool { return lv.UUID == id.UUID })
		if i >= 0 {
			return lvm.LV{}, fmt.Errorf("%w: UUID %s is now named %s", ErrForeign, id.UUID, v.report.LVs[i].Name)
		}
		return lvm.LV{}, fmt.Errorf("%s/%s: %w", v.VG, id.Name, lvm.ErrNotFound)
	}
	switch {
	case lv.UUID != id.UUID:
		return lvm.LV{}, fmt.Errorf("%w: its UUID is %s, ordered was %s", ErrForeign, lv.UUID, id.UUID)
	case !lv.HasTags(id.Tags...):
		return lvm.LV{}, fmt.Errorf("%w: its tags are %q, ordered were %q", ErrForeign, lv.Tags, id.Tags)
	case !v.holds(lv):
		return lvm.LV{}, fmt.Errorf("%w: it is of another kind (%q)", ErrForeign, lv.Layout)
	}
	return lv, nil
}
