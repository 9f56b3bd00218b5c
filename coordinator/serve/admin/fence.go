package admin

import (
	"context"
	"fmt"
	"strings"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Fence is the operator's word that a node is off or cut from its storage network: its
// attachments end, and where two copies have nobody to decide between them (DRBD 8.4) the
// other one may go on alone. One entry holds all of it.
func (s *nodes) Fence(ctx context.Context, r *adminv1.FenceNodeRequest) (*adminv1.FenceNodeResponse, error) {
	key := model.Key{Kind: model.KindNode, Name: r.GetName()}
	if err := confirmed(key, r.GetConfirm()); err != nil {
		return nil, err
	}
	var released []string
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		released = nil
		n, err := find[*model.Node](v, r.GetName())
		if err != nil {
			return nil, err
		}
		if r.GetUndo() {
			return unfence(n, b), nil
		}
		n = model.Clone(n)
		if n.Fenced == nil {
			n.Fenced = &model.Fence{By: door.From(ctx).Actor(), At: s.Clock()}
		}
		if st, ok := state.Get[*model.NodeStatus](v, n.Name); ok {
			n.Fenced.Epoch = st.Epoch
		}
		b.Put(n)
		for a := range v.AttachmentsOn(n.Name) {
			b.Delete(a)
			released = append(released, a.Volume)
		}
		if err := passOn(v, n.Name, r.GetAcceptStale(), b); err != nil {
			return nil, err
		}
		return b.Because(fencing(n.Name, released)), nil
	})
	if err != nil {
		return nil, err
	}
	n, err := s.one(r.GetName())
	if err != nil {
		return nil, err
	}
	return &adminv1.FenceNodeResponse{Node: n, Released: released}, nil
}

func fencing(node string, released []string) string {
	cause := "fence node " + node
	if len(released) > 0 {
		cause += ", end its use of " + strings.Join(released, ", ")
	}
	return cause
}

func unfence(n *model.Node, b *state.Build) *state.Build {
	if n.Fenced == nil {
		return nil
	}
	n = model.Clone(n)
	n.Fenced = nil
	return b.Because("lift the fence of node " + n.Name).Put(n)
}

// passOn lets the other copy of each volume with two copies on DRBD 8.4 go on alone,
// unless the fenced one has writes that it lacks.
func passOn(v state.View, node string, acceptStale bool, b *state.Build) error {
	var refused []string
	for r := range v.ReplicasOn(node) {
		vs, ok := state.Get[*model.VolumeStatus](v, r.Volume)
		other, paired := otherCopy(vs, r.ID)
		if !ok || !paired || fenced(v, other.Node) {
			continue
		}
		switch {
		case vs.Sole != nil && *vs.Sole == r.ID && !acceptStale:
			refused = append(refused, r.Volume)
			continue
		case vs.Sole != nil && *vs.Sole != r.ID:
			continue
		}
		vs = model.Clone(vs)
		vs.GoesAlone(other.ID)
		b.Put(vs)
	}
	if len(refused) == 0 {
		return nil
	}
	return door.Refuse(model.ErrBusy, model.Key{Kind: model.KindNode, Name: node},
		fmt.Sprintf("it went on alone with %s: the other copy lacks writes that it acknowledged", strings.Join(refused, ", ")),
		"bring the node back; or, if those writes may be lost, fence it with --accept-stale")
}

// otherCopy returns the other one of exactly two copies that no quorum decides between.
func otherCopy(vs *model.VolumeStatus, id int) (model.DatameshMember, bool) {
	var none model.DatameshMember
	if vs == nil || !vs.Formed || vs.DRBD != "8.4" || vs.KeepsTwo() {
		return none, false
	}
	copies, other := 0, none
	for _, m := range vs.Datamesh.Members {
		if m.Type != model.Diskful {
			continue
		}
		copies++
		if m.ID != id {
			other = m
		}
	}
	return other, copies == 2 && other.Node != ""
}

func fenced(v state.View, node string) bool {
	n, ok := state.Get[*model.Node](v, node)
	return ok && n.Fenced != nil
}
