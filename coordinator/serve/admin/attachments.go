package admin

import (
	"context"
	"fmt"
	"slices"

	"rvol/coordinator/decide/attachment"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

type attachments struct {
	adminv1.UnimplementedAttachmentsServer
	*api
}

// List tells which volumes are in use where.
func (s *attachments) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListAttachmentsResponse, error) {
	v, seen := s.Store.View(), s.Inventory.View()
	picked, err := pick[*model.Attachment](v, q)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListAttachmentsResponse{}
	for _, a := range picked {
		if on(q, a.Node, a.Volume) {
			out.Attachments = append(out.Attachments, attachmentOf(v, seen, a))
		}
	}
	return out, nil
}

// usersOf lists the attachments of a volume.
func usersOf(v state.View, volume string) []*model.Attachment {
	var out []*model.Attachment
	for a := range state.Under[*model.Attachment](v, volume+"/") {
		out = append(out, a)
	}
	return out
}

// Attach asks for a volume to be usable on a node. Asked for again, it answers with what
// is there.
func (s *volumes) Attach(ctx context.Context, r *adminv1.AttachRequest) (*adminv1.Attachment, error) {
	name := model.AttachmentName(r.GetVolume(), r.GetNode())
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		vol, err := find[*model.Volume](v, r.GetVolume())
		if err != nil {
			return nil, err
		}
		node, err := find[*model.Node](v, r.GetNode())
		if err != nil {
			return nil, err
		}
		if old, ok := state.Get[*model.Attachment](v, name); ok {
			if old.Deleting() {
				return nil, door.Refuse(model.ErrBusy, vol.Key(), "it is being detached from node "+node.Name, "wait until it is, and attach it again")
			}
			return nil, nil
		}
		if err := mayAttach(v, vol, node); err != nil {
			return nil, err
		}
		a := &model.Attachment{Meta: newMeta(name, nil, s.Clock()), Volume: vol.Name, Node: node.Name}
		b.Expect(vol.Key(), vol.Revision) // a deletion or a stop that came in between wins
		b.Expect(node.Key(), node.Revision)
		return b.Because(fmt.Sprintf("attach %s on node %s is asked for", vol.Name, node.Name)).Put(a), nil
	})
	if err != nil {
		return nil, err
	}
	v := s.Store.View()
	a, err := find[*model.Attachment](v, name)
	if err != nil {
		return nil, err
	}
	return attachmentOf(v, s.Inventory.View(), a), nil
}

// mayAttach says why a volume cannot be used on a node.
func mayAttach(v state.View, vol *model.Volume, node *model.Node) error {
	vs, _ := state.Get[*model.VolumeStatus](v, vol.Name)
	busy := func(reason, next string) error { return door.Refuse(model.ErrBusy, vol.Key(), reason, next) }
	switch {
	case vol.Deleting():
		return busy("it is being deleted", "")
	case vs == nil || !vs.Formed:
		return busy("it is not formed yet", "see what it waits for: `rvol volume show "+vol.Name+"`")
	case vol.Stopped:
		return busy("it is stopped", "start it: `rvol volume start "+vol.Name+"`")
	}
	if err := mayServe(v, vol, vs, node); err != nil {
		return err
	}
	r, here := v.ReplicaOn(node.Name, vol.Name)
	if vs.Sole != nil && (!here || *vs.Sole != r.ID) {
		holder := soleNode(vs)
		return busy(fmt.Sprintf("replica %d on %s went on alone: it has writes that the copy on %s lacks", *vs.Sole, holder, node.Name),
			fmt.Sprintf("attach it on %s; or bring that node back and let it resync; or, if those writes may be lost, `rvol node fence %s --accept-stale`", holder, holder))
	}
	users := usersOf(v, vol.Name)
	if len(users) >= max(1, vol.MaxAttachments) {
		return busy("in use on node "+users[0].Node, fmt.Sprintf("detach it there: `rvol volume detach %s %s`; if that node is off, `rvol node fence %s`", vol.Name, users[0].Node, users[0].Node))
	}
	return nil
}

// mayServe says why a node cannot serve a volume.
func mayServe(v state.View, vol *model.Volume, vs *model.VolumeStatus, node *model.Node) error {
	st, _ := state.Get[*model.NodeStatus](v, node.Name)
	r, here := v.ReplicaOn(node.Name, vol.Name)
	switch {
	case node.Fenced != nil:
		return door.Refuse(model.ErrBusy, node.Key(), "it is fenced", "when it is known to be well: `rvol node unfence "+node.Name+"`")
	case st == nil || !st.Ready:
		return door.Refuse(model.ErrBusy, node.Key(), "it is not Ready", "see `rvol node show "+node.Name+"`")
	case here && r.Deleting():
		return door.Refuse(model.ErrBusy, vol.Key(), "its replica on node "+node.Name+" is still being removed", "wait until it is")
	}
	if reason, why := attachment.Unreachable(vs, node.Name, r); why != "" {
		return door.Refuse(model.ErrBusy, vol.Key(), reason+": "+why, "attach it on "+copiesOf(v, vol.Name))
	}
	if !here {
		return mayReach(v, vol, vs, node)
	}
	return nil
}

// mayReach says why a node without a replica cannot be given one to use the volume by.
func mayReach(v state.View, vol *model.Volume, vs *model.VolumeStatus, node *model.Node) error {
	ps, ok := state.Get[*model.PoolStatus](v, vs.Configuration.Pool)
	if ok && slices.ContainsFunc(ps.EligibleNodes, func(n model.EligibleNode) bool { return n.Node == node.Name && n.DRBD == vs.DRBD }) {
		return nil
	}
	return door.Refuse(model.ErrBusy, vol.Key(),
		fmt.Sprintf("%s: node %s is not one of pool %s's with DRBD %s", attachment.NotEligible, node.Name, vs.Configuration.Pool, vs.DRBD),
		"see why: `rvol explain pool "+vs.Configuration.Pool+"`")
}

func copiesOf(v state.View, volume string) string {
	var nodes []string
	for r := range state.Under[*model.Replica](v, volume+"/") {
		if r.Type == model.Diskful && !r.Deleting() && r.Node != "" {
			nodes = append(nodes, r.Node)
		}
	}
	return these(nodes)
}

func soleNode(vs *model.VolumeStatus) string {
	m, ok := vs.Datamesh.Member(*vs.Sole)
	if !ok {
		return "another node"
	}
	return m.Node
}

// Detach asks for the end of a use. A device that is held open is not taken away.
func (s *volumes) Detach(ctx context.Context, r *adminv1.AttachRequest) (*adminv1.Done, error) {
	message := "its node is being made Secondary"
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		vol, err := find[*model.Volume](v, r.GetVolume())
		if err != nil {
			return nil, err
		}
		a, ok := state.Get[*model.Attachment](v, model.AttachmentName(vol.Name, r.GetNode()))
		if !ok {
			return nil, door.Refuse(model.ErrNotFound, vol.Key(), "not attached on node "+r.GetNode(), "see where it is: `rvol attachment list --volume "+vol.Name+"`")
		}
		if a.Deleting() {
			message = "it was being detached already"
			return nil, nil
		}
		gone := model.Clone(a)
		gone.DeletingSince = s.Clock()
		return b.Because(fmt.Sprintf("detach %s from node %s is asked for", vol.Name, a.Node)).Put(gone), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev, Message: message}, nil
}
