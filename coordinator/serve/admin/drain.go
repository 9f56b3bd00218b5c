package admin

import (
	"context"
	"fmt"
	"strings"

	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Drain cordons a node, and begins to move each copy that it holds elsewhere. It detaches
// nothing: a volume that is used there stays until somebody detaches it. Called again it
// begins what could not begin before, and tells how far the rest is.
func (s *nodes) Drain(ctx context.Context, r *adminv1.DrainNodeRequest) (*adminv1.DrainNodeResponse, error) {
	_, err := s.write(ctx, "/cordon", func(v state.View, b *state.Build) (*state.Build, error) {
		n, err := find[*model.Node](v, r.GetName())
		if err != nil || n.Unschedulable == !r.GetCancel() {
			return nil, err
		}
		n = model.Clone(n)
		n.Unschedulable = !r.GetCancel()
		return b.Because(map[bool]string{false: "drain node ", true: "drain node no more: "}[r.GetCancel()] + n.Name).Put(n), nil
	})
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

// drain begins to move one replica, and says how far it is or why it stays.
func (s *nodes) drain(ctx context.Context, r *model.Replica, q *adminv1.DrainNodeRequest) (message string, begun bool) {
	v := s.Store.View()
	vs, _ := state.Get[*model.VolumeStatus](v, r.Volume)
	switch t := moving(vs, r); {
	case r.Deleting():
		return "being removed", true
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
	got, err := s.begin(part(ctx, r.Name), r.Volume, model.ReplicaPlace{}, begins(func(in transition.Input) (transition.Outcome, error) {
		return transition.Replace(in, r.ID, model.ReplicaPlace{}, q.GetAcceptSingleCopy())
	}))
	if err != nil {
		return err.Error(), false
	}
	return got.GetTransition().GetTitle() + ": begun", true
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
