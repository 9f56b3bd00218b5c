package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Drain cordons a node, and begins to move each copy that it holds elsewhere. It detaches
// nothing: a volume that is used there stays until somebody detaches it. Called again it
// begins what could not begin before, and tells how far the rest is. Cancelled, it goes back
// from moves where that is safe.
func (s *nodes) Drain(ctx context.Context, r *adminv1.DrainNodeRequest) (*adminv1.DrainNodeResponse, error) {
	n, err := find[*model.Node](s.Store.View(), r.GetName())
	if err == nil && n.Unschedulable == r.GetCancel() { // who waits asks again and again
		_, err = s.write(ctx, "/cordon", func(v state.View, b *state.Build) (*state.Build, error) { return drained(v, b, r) })
	}
	if err != nil {
		return nil, err
	}
	out := &adminv1.DrainNodeResponse{}
	for replica := range s.Store.View().ReplicasOn(r.GetName()) {
		message, begun := s.drain(ctx, replica, r)
		one := &adminv1.NodeReplica{Name: replica.Name, Message: message}
		if begun {
			out.Begun = append(out.Begun, one)
		} else {
			out.Left = append(out.Left, one)
		}
	}
	out.Node, err = s.one(r.GetName())
	return out, err
}

// drained cordons the node, or lifts that.
func drained(v state.View, b *state.Build, r *adminv1.DrainNodeRequest) (*state.Build, error) {
	n, err := find[*model.Node](v, r.GetName())
	if err != nil || n.Unschedulable == !r.GetCancel() {
		return nil, err
	}
	n = model.Clone(n)
	n.Unschedulable = !r.GetCancel()
	return b.Because(map[bool]string{false: "drain node ", true: "drain node no more: "}[r.GetCancel()] + n.Name).Put(n), nil
}

// drain begins to move one replica, and says how far it is or why it stays.
func (s *nodes) drain(ctx context.Context, r *model.Replica, q *adminv1.DrainNodeRequest) (message string, begun bool) {
	v := s.Store.View()
	vs, _ := state.Get[*model.VolumeStatus](v, r.Volume)
	switch t := moving(vs, r); {
	case r.Deleting():
		return "being removed", true
	case t != nil && q.GetCancel() && transition.Leaving(vs, r.ID):
		return s.stay(ctx, r, t)
	case t != nil:
		return t.Title + ": " + stepOf(t), true
	case q.GetCancel():
		return "stays", false
	}
	if a, ok := state.Get[*model.Attachment](v, model.AttachmentName(r.Volume, r.Node)); ok {
		return fmt.Sprintf("the volume is used there: detach it first, or attach it elsewhere: `rvol volume detach %s %s`", r.Volume, a.Node), false
	}
	if r.Type != model.Diskful {
		return "it has no data: it leaves with `rvol replica remove " + r.Name + "`, and votes elsewhere after `rvol replica add`", false
	}
	if other := serial(vs); other != nil {
		return "waits until this is over: " + other.Title, true
	}
	got, err := s.begin(part(ctx, r.Name), r.Volume, model.ReplicaPlace{}, begins(func(in transition.Input) (transition.Outcome, error) {
		return transition.Replace(in, r.ID, model.ReplicaPlace{}, q.GetAcceptSingleCopy())
	}))
	if err != nil {
		return err.Error(), false
	}
	return got.GetTransition().GetTitle() + ": begun", true
}

// stay goes back from the move of a replica, or says why that can only go on.
func (s *nodes) stay(ctx context.Context, r *model.Replica, t *model.Transition) (message string, leaves bool) {
	if t.Abort != "" {
		return t.Title + ": goes back", false
	}
	_, err := s.begin(part(ctx, r.Name), r.Volume, model.ReplicaPlace{}, func(w control.World, b *state.Build, vol *model.Volume) error {
		return control.Cancel(w, b, vol, t.Plan, "asked for by "+door.From(ctx).Actor())
	})
	if err != nil {
		return t.Title + ": goes on: " + err.Error(), true
	}
	return t.Title + ": goes back", false
}

// serial is the change under way that bears no other beside it; nil: there is none.
func serial(vs *model.VolumeStatus) *model.Transition {
	if vs == nil {
		return nil
	}
	i := slices.IndexFunc(vs.Transitions, func(t model.Transition) bool { return !t.Compatible })
	if i < 0 {
		return nil
	}
	return &vs.Transitions[i]
}

// part tells the changes of one call apart by their request id.
func part(ctx context.Context, name string) context.Context {
	c := door.From(ctx)
	if c.RequestID != "" {
		c.RequestID += "/" + name
	}
	return door.With(ctx, c)
}

// moving is the transition under way that concerns a replica; nil: none.
func moving(vs *model.VolumeStatus, r *model.Replica) *model.Transition {
	if vs == nil {
		return nil
	}
	for i, t := range vs.Transitions {
		for _, step := range t.Steps {
			if step.Is(r.ID) {
				return &vs.Transitions[i]
			}
		}
	}
	return nil
}

func stepOf(t *model.Transition) string {
	i := t.Active()
	if i < 0 {
		return "about to begin"
	}
	return strings.TrimSuffix(t.Steps[i].Name+", "+t.Steps[i].Message, ", ")
}

// Lost is the operator's word that a node never comes back: fence, and each of its replicas
// is given up. What would be lost with the last copy is kept, and told.
func (s *nodes) Lost(ctx context.Context, r *adminv1.FenceNodeRequest) (*adminv1.LostNodeResponse, error) {
	if r.GetUndo() {
		return nil, door.Invalid(model.Key{Kind: model.KindNode, Name: r.GetName()}, "what was given up cannot be taken back")
	}
	fenced, err := s.Fence(part(ctx, "fence"), r)
	if err != nil {
		return nil, err
	}
	out := &adminv1.LostNodeResponse{Released: fenced.GetReleased()}
	for replica := range s.Store.View().ReplicasOn(r.GetName()) {
		if replica.Deleting() {
			continue // it is given up, or was to go anyway
		}
		_, err := s.begin(part(ctx, replica.Name), replica.Volume, model.ReplicaPlace{}, begins(func(in transition.Input) (transition.Outcome, error) {
			return transition.ForceRemove(in, replica.ID)
		}))
		if err != nil {
			out.Kept = append(out.Kept, &adminv1.NodeReplica{Name: replica.Name, Message: err.Error()})
			continue
		}
		out.GivenUp = append(out.GivenUp, replica.Name)
	}
	out.Node, err = s.one(r.GetName())
	return out, err
}
