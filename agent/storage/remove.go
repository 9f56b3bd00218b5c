package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"rvol/lvm"
)

// Remove destroys the device of id, and looks whether it is gone.
func (v *volumes) Remove(ctx context.Context, id Identity) error {
	err := v.exclusively(ctx, id.Name, func() error { return v.remove(ctx, id) })
	if err != nil {
		return fmt.Errorf("remove %s from %s: %w", id.Name, v.VG, err)
	}
	return nil
}

func (v *volumes) remove(ctx context.Context, id Identity) error {
	seen, err := v.read(ctx)
	if err != nil {
		return err
	}
	lv, err := seen.find(id)
	switch {
	case errors.Is(err, lvm.ErrNotFound):
		return nil
	case err != nil:
		return err
	case lv.Open:
		return fmt.Errorf("%w: %s is open", ErrInUse, lv.Name)
	case slices.Contains(lv.Roles, "thickorigin"):
		// lvremove would take the snapshots with it.
		return fmt.Errorf("%w: %s has snapshots", ErrInUse, lv.Name)
	}
	if err := v.Tool.LVRemove(ctx, v.VG, lv.Name, id.UUID, id.Tags...); err != nil {
		return err
	}
	// lvremove calls it success when its selection matched nothing.
	_, err = v.identify(ctx, id)
	switch {
	case errors.Is(err, lvm.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: %s changed while it was being removed", ErrForeign, lv.Name)
}
