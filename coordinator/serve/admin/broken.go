package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/broken"
	"rvol/coordinator/decide/verification"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Resolve ends a split brain, or tells what each side says of itself and what would be lost.
func (s *volumes) Resolve(ctx context.Context, r *adminv1.ResolveVolumeRequest) (*adminv1.BrokenVolume, error) {
	return s.mend(ctx, r.GetName(), r.GetConfirm(), func(in broken.Input) (broken.Outcome, error) {
		if r.Keep == nil {
			return broken.Outcome{}, nil
		}
		return broken.Resolve(in, int(r.GetKeep()))
	})
}

// Recover takes a copy as good that is not by its own account, or tells what would be lost.
func (s *volumes) Recover(ctx context.Context, r *adminv1.RecoverVolumeRequest) (*adminv1.BrokenVolume, error) {
	return s.mend(ctx, r.GetName(), r.GetConfirm(), func(in broken.Input) (broken.Outcome, error) {
		return broken.Recover(in, int(r.GetFrom()))
	})
}

// mend carries out what is decided about a volume that does not heal by itself, once its
// name was given once more, and waits until the nodes have done it.
func (s *volumes) mend(ctx context.Context, name, confirm string, decide func(broken.Input) (broken.Outcome, error)) (*adminv1.BrokenVolume, error) {
	key := model.Key{Kind: model.KindVolume, Name: name}
	if confirm != "" {
		if err := confirmed(key, confirm); err != nil {
			return nil, err
		}
	}
	out, granted := &adminv1.BrokenVolume{}, []string(nil)
	act := func(v state.View, b *state.Build) (*state.Build, error) {
		in, err := brokenInput(v, s.Inventory.View(), name, s.Clock())
		if err != nil {
			return nil, err
		}
		out.Sides, granted = sides(in), nil
		got, err := decide(in)
		if err != nil {
			return nil, about(key, err)
		}
		if out.Lost = got.Lost; confirm == "" || len(got.Put) == 0 {
			return nil, nil
		}
		b.Expect(in.Volume.Key(), in.Volume.Revision)
		for _, o := range got.Put {
			if op, ok := o.(*model.Operation); ok {
				if err := granting(v, op, s.Clock()); err != nil {
					return nil, err
				}
				granted = append(granted, op.Name)
			}
			b.Put(o)
		}
		return b.Because(got.Cause), nil
	}
	err := s.writeIf(ctx, confirm != "", act)
	if err == nil {
		err = s.untilOver(ctx, key, granted)
	}
	if err != nil {
		return nil, err
	}
	out.Volume, err = s.one(name)
	return out, err
}

// writeIf only looks what a change would be, if it is not meant yet: that is said later under the same request id.
func (s *volumes) writeIf(ctx context.Context, meant bool, make change) error {
	if !meant {
		_, err := make(s.Store.View(), nil)
		return err
	}
	_, err := s.write(ctx, "", make)
	return err
}

// granting lets an operation take the place of an earlier one of its name, which must be over.
func granting(v state.View, op *model.Operation, now time.Time) error {
	old, ok := state.Get[*model.Operation](v, op.Name)
	if ok && !old.Over() {
		return door.Refuse(model.ErrBusy, op.Key(), "it is under way on node "+old.Node, "see `rvol operation show "+op.Name+"`")
	}
	op.Meta = newMeta(op.Name, nil, now)
	if ok {
		op.Revision = old.Revision
	}
	return nil
}

// untilOver waits for operations, and tells of the first that failed.
func (s *volumes) untilOver(ctx context.Context, key model.Key, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return s.until(ctx, func() (bool, error) {
		over := true
		for _, name := range names {
			op, err := find[*model.Operation](s.Store.View(), name)
			if errors.Is(err, model.ErrNotFound) {
				continue // the volume went
			}
			if err != nil {
				return false, err
			}
			if op.Phase == model.OperationFailed {
				return false, door.Refuse(model.ErrBusy, key, fmt.Sprintf("node %s: %s", op.Node, op.Result), "see `rvol volume show "+key.Name+"`, and say it again")
			}
			over = over && op.Over()
		}
		return over, nil
	})
}

// brokenInput gathers what is known of the copies of a volume.
func brokenInput(v state.View, seen inventory.View, name string, now time.Time) (broken.Input, error) {
	vol, err := find[*model.Volume](v, name)
	if err != nil {
		return broken.Input{}, err
	}
	in := broken.Input{Volume: vol, Status: &model.VolumeStatus{}, Now: now}
	if vs, ok := state.Get[*model.VolumeStatus](v, name); ok {
		in.Status = vs
	}
	for r := range state.Under[*model.Replica](v, name+"/") {
		part, ok := in.Status.Datamesh.Member(r.ID)
		if !ok || part.Type != model.Diskful {
			continue
		}
		view := viewOf(v, seen, r)
		c := broken.Copy{Replica: r, Known: view.agent.Known() && view.agent.DRBDError == "", Fenced: fenced(v, r.Node), State: view.said()}
		c.Resource, c.Up = view.resource()
		if _, attached := state.Get[*model.Attachment](v, model.AttachmentName(name, r.Node)); attached {
			c.Used = "attached"
		}
		if who, open := c.Resource.Open(); open {
			c.Used = cmp.Or(who, "it is open")
		}
		in.Copies = append(in.Copies, c)
	}
	slices.SortFunc(in.Copies, func(a, b broken.Copy) int { return cmp.Compare(a.ID, b.ID) })
	return in, nil
}

// sides tells what each copy says of itself.
func sides(in broken.Input) []*adminv1.Side {
	var out []*adminv1.Side
	for _, c := range in.Copies {
		s := &adminv1.Side{Id: int32(c.ID), Node: c.Node, Disk: "Unknown", Role: "Unknown", Used: c.Used}
		switch {
		case !c.Known && c.Fenced:
			s.Message = "no report; the node is fenced"
		case !c.Known:
			s.Message = "no report"
		case !c.Up:
			s.Disk, s.Role = "Down", "-"
		default:
			s.Disk, s.Role = string(c.Disk()), string(c.Resource.Role)
		}
		for _, a := range c.State.Apart {
			s.Apart = append(s.Apart, apartOf(in, c, a))
		}
		if len(c.State.Apart) > 0 {
			s.Generations = generations(c.State.Apart[0])
		}
		out = append(out, s)
	}
	return out
}

func apartOf(in broken.Input, c broken.Copy, a inventory.Apart) *adminv1.ApartFrom {
	split := slices.ContainsFunc(in.Copies, func(o broken.Copy) bool { return o.ID == a.Peer && broken.Split(c, o) })
	return &adminv1.ApartFrom{Id: int32(a.Peer), Since: timestamp(a.Since), OutOfSync: broken.Missing(a), Split: split}
}

// generations writes what each device holds, as DRBD's own tools do: current:bitmap:older.
func generations(a inventory.Apart) []string {
	var out []string
	for _, d := range a.Devices {
		if d.Generations.Current == 0 {
			out = append(out, "not read")
			continue
		}
		ids := []string{d.Generations.Current.String(), d.Generations.Bitmap.String()}
		for _, u := range d.Generations.History {
			ids = append(ids, u.String())
		}
		out = append(out, strings.Join(ids, ":"))
	}
	return out
}

// Verify begins to compare the copies of a volume.
func (s *volumes) Verify(ctx context.Context, r *adminv1.VerifyVolumeRequest) (*adminv1.Volume, error) {
	key := model.Key{Kind: model.KindVolume, Name: r.GetName()}
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		vol, err := find[*model.Volume](v, r.GetName())
		if err != nil {
			return nil, err
		}
		vs, ok := state.Get[*model.VolumeStatus](v, vol.Name)
		if !ok {
			return nil, door.Refuse(model.ErrBusy, key, "it is not formed yet", "see `rvol volume show "+vol.Name+"`")
		}
		ask := verification.Request{Repair: r.GetRepair()}
		if r.From != nil {
			from := int(r.GetFrom())
			ask.From = &from
		}
		w := control.World{State: v, Inventory: s.Inventory.View(), Now: s.Clock()}
		next, err := verification.Begin(control.VerificationInput(w, vol, vs), ask)
		if err != nil {
			return nil, about(key, err)
		}
		b.Expect(vol.Key(), vol.Revision)
		return b.Because(fmt.Sprintf("compare the copies of volume %s with replica %d", vol.Name, next.Verification.Source)).Put(next), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(r.GetName())
}
