package admin

import (
	"context"
	crand "crypto/rand"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// starter begins a transition of a volume.
type starter = func(w control.World, b *state.Build, vol *model.Volume) error

// begins is a starter of what a plan begins.
func begins(start func(transition.Input) (transition.Outcome, error)) starter {
	return func(w control.World, b *state.Build, vol *model.Volume) error {
		return control.Change(w, b, vol, start)
	}
}

// Add begins to give a volume another replica.
func (s *replicas) Add(ctx context.Context, r *adminv1.AddReplicaRequest) (*adminv1.TransitionBegun, error) {
	to := placeIn(r.GetTo())
	return s.begin(ctx, r.GetVolume(), to, begins(func(in transition.Input) (transition.Outcome, error) {
		switch typ := model.ReplicaType(r.GetType()); typ {
		case model.TieBreaker:
			return transition.AddTieBreaker(in, to)
		case model.Access:
			return transition.AddAccess(in, to.Node)
		case "", model.Diskful:
			return transition.AddDiskful(in, to)
		default:
			return transition.Outcome{}, door.Invalid(in.Volume.Key(), "replica type %q: want Diskful, TieBreaker or Access", typ)
		}
	}))
}

// Move begins to put a copy elsewhere: on another node, or on another volume group of its own.
func (s *replicas) Move(ctx context.Context, r *adminv1.MoveReplicaRequest) (*adminv1.TransitionBegun, error) {
	volume, id, err := model.SplitReplicaName(r.GetName())
	if err != nil {
		return nil, err
	}
	to := placeIn(r.GetTo())
	return s.begin(ctx, volume, to, func(w control.World, b *state.Build, vol *model.Volume) error {
		if old, ok := state.Get[*model.Replica](w.State, r.GetName()); ok && old.Node == to.Node && to.Node != "" {
			return control.ChangeBacking(w, b, vol, id, to)
		}
		return control.Change(w, b, vol, func(in transition.Input) (transition.Outcome, error) {
			return transition.Replace(in, id, to, r.GetAcceptSingleCopy())
		})
	})
}

// Retype begins to make a replica one of another type, where it is.
func (s *replicas) Retype(ctx context.Context, r *adminv1.RetypeReplicaRequest) (*adminv1.TransitionBegun, error) {
	volume, id, err := model.SplitReplicaName(r.GetName())
	if err != nil {
		return nil, err
	}
	to := placeIn(r.GetTo())
	return s.begin(ctx, volume, to, begins(func(in transition.Input) (transition.Outcome, error) {
		return transition.Retype(in, id, model.ReplicaType(r.GetType()), to)
	}))
}

// Remove begins to take a replica away, or gives one up whose node is fenced.
func (s *replicas) Remove(ctx context.Context, r *adminv1.RemoveReplicaRequest) (*adminv1.TransitionBegun, error) {
	volume, id, err := model.SplitReplicaName(r.GetName())
	if err != nil {
		return nil, err
	}
	if r.GetForce() {
		if err := confirmed(model.Key{Kind: model.KindReplica, Name: r.GetName()}, r.GetConfirm()); err != nil {
			return nil, err
		}
	}
	return s.begin(ctx, volume, model.ReplicaPlace{}, begins(func(in transition.Input) (transition.Outcome, error) {
		if r.GetForce() {
			return transition.ForceRemove(in, id)
		}
		return transition.Remove(in, id)
	}))
}

// Cancel goes back from a transition that is under way.
func (s *volumes) Cancel(ctx context.Context, r *adminv1.CancelRequest) (*adminv1.Volume, error) {
	begun, err := s.begin(ctx, r.GetName(), model.ReplicaPlace{}, func(w control.World, b *state.Build, vol *model.Volume) error {
		return control.Cancel(w, b, vol, r.GetPlan(), "asked for by "+door.From(ctx).Actor())
	})
	return begun.GetVolume(), err
}

func placeIn(p *adminv1.Place) model.ReplicaPlace {
	return model.ReplicaPlace{Node: p.GetNode(), VG: p.GetVg(), ThinPool: p.GetThinPool()}
}

// begin begins a transition of a volume, and answers with both.
func (a *api) begin(ctx context.Context, volume string, to model.ReplicaPlace, start starter) (*adminv1.TransitionBegun, error) {
	key, now := model.Key{Kind: model.KindVolume, Name: volume}, a.Clock()
	_, err := a.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		vol, err := find[*model.Volume](v, volume)
		if err != nil {
			return nil, err
		}
		if err := isPlace(v, to); err != nil {
			return nil, err
		}
		w := control.World{State: v, Inventory: a.Inventory.View(), Now: now, Fresh: crand.Text}
		if err := start(w, b, vol); err != nil {
			return nil, about(key, err)
		}
		return changing(b), nil
	})
	if err != nil {
		return nil, err
	}
	v, err := (&volumes{api: a}).one(volume)
	if err != nil {
		return nil, err
	}
	out := &adminv1.TransitionBegun{Volume: v}
	for _, t := range v.GetTransitions() {
		if t.GetStartedAt().AsTime().Equal(now) {
			out.Transition = t
		}
	}
	return out, nil
}

// isPlace refuses a place that does not exist.
func isPlace(v state.View, to model.ReplicaPlace) error {
	if to.Node == "" {
		return nil
	}
	if _, err := find[*model.Node](v, to.Node); err != nil || to.VG == "" {
		return err
	}
	lvg, err := find[*model.LVG](v, model.LVGName(to.Node, to.VG))
	if err != nil {
		return err
	}
	if _, ok := lvg.Pool(to.ThinPool); !ok {
		return door.Refuse(model.ErrNotFound, lvg.Key(), "it has no thin pool "+to.ThinPool, "see `rvol lvg show "+lvg.Name+"`")
	}
	return nil
}
