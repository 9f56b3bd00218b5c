package admin

import (
	"context"
	"fmt"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

type nodes struct {
	adminv1.UnimplementedNodesServer
	*api
}

// List tells of nodes what is committed, and what their agents last said.
func (s *nodes) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListNodesResponse, error) {
	v, seen := s.Store.View(), s.Inventory.View()
	picked, err := pick[*model.Node](v, q)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListNodesResponse{}
	for _, n := range picked {
		if on(q, n.Name, "") {
			out.Nodes = append(out.Nodes, s.node(v, seen, n))
		}
	}
	return out, nil
}

func (s *nodes) one(name string) (*adminv1.Node, error) {
	v := s.Store.View()
	n, err := find[*model.Node](v, name)
	if err != nil {
		return nil, err
	}
	return s.node(v, s.Inventory.View(), n), nil
}

func (s *nodes) node(v state.View, seen inventory.View, n *model.Node) *adminv1.Node {
	out := nodeOf(v, seen, n)
	out.Conditions = append(out.Conditions, s.certificate(identity.Agent, n.Name)...)
	out.Conditions = append(out.Conditions, s.leftover(v, n.Name)...)
	return out
}

func nodeOf(v state.View, seen inventory.View, n *model.Node) *adminv1.Node {
	out := &adminv1.Node{Meta: meta(&n.Meta), Zone: n.Zone, Unschedulable: n.Unschedulable, Fenced: n.Fenced != nil}
	if st, ok := state.Get[*model.NodeStatus](v, n.Name); ok {
		out.Ready, out.StatusReason, out.StatusUpdatedBy = st.Ready, st.Why(), st.UpdatedBy
		out.StatusUpdatedAt, out.Epoch, out.HostName = timestamp(st.UpdatedAt), st.Epoch, st.HostName
		out.AgentVersion, out.Kernel = st.AgentVersion, st.Kernel
		out.Drbd, out.Lvm, out.Thin = st.Capabilities.DRBDFull, st.Capabilities.LVM, st.Capabilities.Thin
		out.Addresses = map[string]string{}
		for network, a := range st.Addresses {
			out.Addresses[network] = a.String()
		}
		if st.Health.IsValid() {
			out.Health = st.Health.String()
		}
		if st.Epoch > 0 {
			out.Conditions = conditions(capable(st.Capabilities))
		}
	}
	for range v.ReplicasOn(n.Name) {
		out.Replicas++
	}
	if agent := seen.Node(n.Name); agent != nil {
		out.Connected = agent.Connected
		out.Conditions = append(out.Conditions, conditions(softly(agent))...)
		for _, vg := range agent.VGs {
			out.Vgs = append(out.Vgs, groupOf(v, n.Name, vg))
		}
	}
	return out
}

// capable are the conditions of a node's tools and kernel.
func capable(c model.Capabilities) []model.Condition {
	one := func(what, has, why string) model.Condition {
		if has == "" || has == "false" {
			return model.Condition{Type: what, Status: model.False, Reason: "Missing", Message: why}
		}
		return model.Condition{Type: what, Status: model.True, Reason: "Present"}
	}
	return []model.Condition{
		one("DRBD", c.DRBD, c.DRBDReason), one("LVM", c.LVM, c.LVMReason), one("Thin", fmt.Sprint(c.Thin), c.ThinReason),
	}
}

// softly are the conditions that an agent reports; Unknown when it may have changed since.
func softly(n *inventory.Node) []model.Condition {
	var out []model.Condition
	for _, c := range n.Conditions {
		if !n.Known() {
			c.Status, c.Message = model.Unknown, "last said: "+c.Message
		}
		out = append(out, c)
	}
	for _, e := range []struct{ what, why string }{{"StorageReported", n.StorageError}, {"ResourcesReported", n.DRBDError}} {
		if e.why != "" {
			out = append(out, model.Condition{Type: e.what, Status: model.False, Reason: "Incomplete", Message: e.why})
		}
	}
	return out
}

func groupOf(v state.View, node string, vg inventory.VG) *adminv1.NodeVG {
	l, offered := state.Get[*model.LVG](v, model.LVGName(node, vg.Name))
	offered = offered && l.UUID == vg.UUID
	out := &adminv1.NodeVG{
		Name: vg.Name, Uuid: vg.UUID, Size: vg.ExtentSize * vg.Extents, Free: vg.ExtentSize * vg.FreeExtents, Offered: offered,
	}
	for _, tp := range vg.ThinPools {
		p := &adminv1.NodeThinPool{Name: tp.Name, Size: tp.Size, DataPercent: tp.DataPercent, MetadataPercent: tp.MetadataPercent}
		if offered {
			_, p.Offered = l.Pool(tp.Name)
		}
		out.ThinPools = append(out.ThinPools, p)
	}
	return out
}

// Set changes what the operator says of a node.
func (s *nodes) Set(ctx context.Context, r *adminv1.SetNodeRequest) (*adminv1.Node, error) {
	if r.GetZone() != "" {
		if err := model.CheckName("zone", r.GetZone(), model.MaxName); err != nil {
			return nil, err
		}
	}
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		old, err := find[*model.Node](v, r.GetName())
		if err != nil {
			return nil, err
		}
		n := model.Clone(old)
		n.Generation++
		if r.Zone != nil {
			n.Zone = r.GetZone()
		}
		if r.Unschedulable != nil {
			n.Unschedulable = r.GetUnschedulable()
		}
		if n.Labels, err = relabel(n.Labels, r.GetLabels()); err != nil {
			return nil, invalid(n.Key(), err)
		}
		return b.Because("change node " + n.Name).Put(n), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(r.GetName())
}

// Delete removes a node that holds nothing. It is cordoned first, so that nothing can be
// placed there while it is looked at.
func (s *nodes) Delete(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	key := model.Key{Kind: model.KindNode, Name: r.GetName()}
	if err := confirmed(key, r.GetConfirm()); err != nil {
		return nil, err
	}
	_, err := s.write(ctx, "/cordon", func(v state.View, b *state.Build) (*state.Build, error) {
		n, err := find[*model.Node](v, r.GetName())
		if err == nil {
			err = holdsNothing(v, n.Name)
		}
		if err != nil || n.Unschedulable {
			return nil, err
		}
		n = model.Clone(n)
		n.Unschedulable = true
		return b.Because("cordon node " + n.Name + " to delete it").Put(n), nil
	})
	if err != nil {
		return nil, err
	}
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		n, err := find[*model.Node](v, r.GetName())
		if err == nil {
			err = holdsNothing(v, n.Name)
		}
		if err != nil {
			return nil, err
		}
		return removeNode(v, n, b.Because("delete node "+n.Name)), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev}, nil
}

func removeNode(v state.View, n *model.Node, b *state.Build) *state.Build {
	b.Delete(n)
	if st, ok := state.Get[*model.NodeStatus](v, n.Name); ok {
		b.Delete(st)
	}
	for i := range state.All[*model.Identity](v) {
		if i.Kind == "agent" && i.Subject == n.Name {
			b.Delete(i)
		}
	}
	for c := range state.Under[*model.Capacity](v, n.Name+"/") {
		b.Delete(c)
	}
	for op := range v.OperationsOn(n.Name) {
		b.Delete(op)
	}
	return b
}

// holdsNothing refuses while there is something of ours on a node.
func holdsNothing(v state.View, node string) error {
	key := model.Key{Kind: model.KindNode, Name: node}
	for r := range v.ReplicasOn(node) {
		return door.Refuse(model.ErrBusy, key, "it holds replica "+r.Name, "delete its volumes, or move them away")
	}
	for c := range state.Under[*model.Capacity](v, node+"/") {
		for res := range v.ReservationsIn(c.Pool) {
			return door.Refuse(model.ErrBusy, key, fmt.Sprintf("%s of %s %s are reserved there", size(res.Charge()), res.OwnerKind, res.Owner), "wait until its agent has removed it")
		}
	}
	for l := range state.Under[*model.LVG](v, node+"/") {
		return door.Refuse(model.ErrBusy, key, "it offers volume group "+l.VG, "take it back with `rvol lvg delete "+l.Name+"`")
	}
	return nil
}
