package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"rvol/coordinator/control"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

type pools struct {
	adminv1.UnimplementedPoolsServer
	*api
}

// List tells of pools which nodes are eligible.
func (s *pools) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListPoolsResponse, error) {
	v := s.Store.View()
	picked, err := pick[*model.Pool](v, q)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListPoolsResponse{}
	for _, p := range picked {
		out.Pools = append(out.Pools, poolOf(v, p))
	}
	return out, nil
}

func poolOf(v state.View, p *model.Pool) *adminv1.Pool {
	out := &adminv1.Pool{
		Meta: meta(&p.Meta), Storage: storageOf(&p.Storage), Zones: p.Zones, NodeSelector: p.NodeSelector,
		SystemNetworks: p.SystemNetworks, NotReadyGrace: duration(p.NotReadyGrace), Generated: p.Generated,
	}
	st, ok := state.Get[*model.PoolStatus](v, p.Name)
	if !ok {
		out.Conditions = conditions([]model.Condition{{Type: "Ready", Status: model.Unknown, Reason: "Pending", Message: "it has not been looked at yet"}})
		return out
	}
	out.EligibleNodesRevision, out.UsedBy, out.Conditions = st.EligibleNodesRevision, st.UsedBy, conditions(st.Conditions)
	for _, n := range st.EligibleNodes {
		e := &adminv1.EligibleNode{
			Node: n.Node, Zone: n.Zone, Unschedulable: n.Unschedulable, NodeReady: n.NodeReady, AgentReady: n.AgentReady, Drbd: n.DRBD,
		}
		for _, l := range n.LVGs {
			e.Lvgs = append(e.Lvgs, &adminv1.EligibleLVG{Vg: l.VG, ThinPool: l.ThinPool, Unschedulable: l.Unschedulable, Ready: l.Ready})
		}
		out.EligibleNodes = append(out.EligibleNodes, e)
	}
	return out
}

func storageOf(s *model.Storage) *adminv1.Storage {
	if s == nil {
		return nil
	}
	return &adminv1.Storage{Type: string(s.Type), Vgs: s.VGs, Selector: s.Selector, ThinPool: s.ThinPool}
}

// storage reads what a pool is made of.
func storage(about model.Key, s *adminv1.Storage) (*model.Storage, error) {
	if s == nil {
		return nil, door.Invalid(about, "say what it is made of: the type and the volume groups")
	}
	out := &model.Storage{Type: model.PoolType(s.GetType()), VGs: s.GetVgs(), Selector: s.GetSelector(), ThinPool: s.GetThinPool()}
	if err := storageKind(about, out); err != nil {
		return nil, err
	}
	for i, vg := range out.VGs {
		if err := model.CheckLVMName("volume group", vg); err != nil {
			return nil, invalid(about, err)
		}
		if slices.Contains(out.VGs[:i], vg) {
			return nil, door.Invalid(about, "volume group %s is named twice", vg)
		}
	}
	if out.ThinPool != "" {
		if err := model.CheckLVMName("thin pool", out.ThinPool); err != nil {
			return nil, invalid(about, err)
		}
	}
	return out, checkSelector(about, "selector of volume groups", out.Selector)
}

// storageKind refuses what does not go together.
func storageKind(about model.Key, s *model.Storage) error {
	switch {
	case s.Type != model.LVM && s.Type != model.LVMThin:
		return door.Invalid(about, "storage type %q: want %s or %s", s.Type, model.LVM, model.LVMThin)
	case s.Type == model.LVMThin && s.ThinPool == "":
		return door.Invalid(about, "type %s needs the name of the thin pool", model.LVMThin)
	case s.Type == model.LVM && s.ThinPool != "":
		return door.Invalid(about, "type %s has no thin pool: use %s for thin pool %s", model.LVM, model.LVMThin, s.ThinPool)
	case len(s.VGs) == 0 && s.Selector == "":
		return door.Invalid(about, "name its volume groups, or select them by label")
	case len(s.VGs) > 0 && s.Selector != "":
		return door.Invalid(about, "volume groups are named or selected by label, not both")
	}
	return nil
}

// Create makes a named pool.
func (s *pools) Create(ctx context.Context, r *adminv1.Pool) (*adminv1.Pool, error) {
	name, spec := r.GetMeta().GetName(), &adminv1.PoolSpec{Labels: r.GetMeta().GetLabels(), Properties: r.GetMeta().GetProperties()}
	copySame(spec, r)
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		if old, ok := state.Get[*model.Pool](v, name); ok {
			return nil, door.Refuse(model.ErrExists, old.Key(), "exists already", "")
		}
		p, err := newPool(name, spec)
		if err != nil {
			return nil, err
		}
		return b.Because("make pool " + name).Put(p), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(name)
}

func (s *pools) one(name string) (*adminv1.Pool, error) {
	v := s.Store.View()
	p, err := find[*model.Pool](v, name)
	if err != nil {
		return nil, err
	}
	return poolOf(v, p), nil
}

func newPool(name string, r *adminv1.PoolSpec) (*model.Pool, error) {
	if err := model.CheckName("pool", name, model.MaxName); err != nil {
		return nil, err
	}
	p := &model.Pool{Meta: newMeta(name, r.GetLabels(), time.Now()), Zones: r.GetZones(), NodeSelector: r.GetNodeSelector()}
	p.Properties = r.GetProperties()
	if strings.HasPrefix(name, control.GeneratedPrefix) {
		return nil, door.Invalid(p.Key(), "names that begin with %s are kept for pools made from classes", control.GeneratedPrefix)
	}
	from, err := storage(p.Key(), r.GetStorage())
	if err != nil {
		return nil, err
	}
	p.Storage = *from
	for _, err := range []error{
		checkZones(p.Key(), p.Zones), checkSelector(p.Key(), "selector of nodes", p.NodeSelector),
		invalid(p.Key(), model.CheckLabels(p.Labels)), checkProperties(p.Key(), p.Properties),
	} {
		if err != nil {
			return nil, err
		}
	}
	if p.SystemNetworks, err = networks(p.Key(), r.GetSystemNetworks()); err != nil {
		return nil, err
	}
	p.NotReadyGrace, err = atLeast(p.Key(), "grace of nodes that are not Ready", r.GetNotReadyGrace(), model.DefaultNotReadyGrace)
	return p, err
}

// Set changes the labels of a pool; what it is made of never changes.
func (s *pools) Set(ctx context.Context, r *adminv1.SetPoolRequest) (*adminv1.Pool, error) {
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		old, err := find[*model.Pool](v, r.GetName())
		if err != nil {
			return nil, err
		}
		labels, err := relabel(old.Labels, r.GetLabels())
		if err != nil {
			return nil, invalid(old.Key(), err)
		}
		p, diff, err := changedPool(old, &adminv1.PoolSpec{Labels: labels}, []string{"labels"})
		if err != nil || len(diff) == 0 {
			return nil, err
		}
		return b.Because(causeOf("pool "+p.Name, diff)).Put(p), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(r.GetName())
}

// changedPool is a pool with the given fields changed, and what that changes.
func changedPool(old *model.Pool, spec *adminv1.PoolSpec, given []string) (*model.Pool, []*adminv1.Difference, error) {
	if old.Generated {
		return nil, nil, door.Refuse(model.ErrInvalid, old.Key(), "it is made from a class, which alone changes it", "")
	}
	before := poolSpec(old)
	wanted := proto.CloneOf(before)
	if err := overlay(old.Key(), wanted, spec, given); err != nil {
		return nil, nil, err
	}
	for _, f := range []string{"storage", "zones", "node_selector", "system_networks", "not_ready_grace"} {
		if was, asked := textOf(before, f), textOf(wanted, f); was != asked {
			return nil, nil, door.Refuse(model.ErrInvalid, old.Key(),
				fmt.Sprintf("%s never changes, for replicas were placed by it: it is %s, asked was %s", f, orNone(was), orNone(asked)),
				"make another pool")
		}
	}
	if _, err := newPool(old.Name, wanted); err != nil {
		return nil, nil, err
	}
	next := model.Clone(old)
	next.Labels, next.Properties = wanted.GetLabels(), wanted.GetProperties()
	return next, differences(before, poolSpec(next)), nil
}

// Delete removes a pool that nobody uses.
func (s *pools) Delete(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		p, err := find[*model.Pool](v, r.GetName())
		if err != nil {
			return nil, err
		}
		st, has := state.Get[*model.PoolStatus](v, p.Name)
		if has && len(st.UsedBy) > 0 {
			return nil, door.Refuse(model.ErrBusy, p.Key(), "used by class "+strings.Join(st.UsedBy, ", "), "delete the classes first; a pool made from a class goes with it")
		}
		for c := range state.All[*model.Class](v) {
			if c.Pool == p.Name {
				return nil, door.Refuse(model.ErrBusy, p.Key(), "used by class "+c.Name, "delete the class first, or give it storage of its own: `rvol class set "+c.Name+" --own-storage`")
			}
		}
		for vs := range v.VolumesInPool(p.Name) {
			return nil, door.Refuse(model.ErrBusy, p.Key(), "used by volume "+vs.Name, "delete its volumes first")
		}
		b.Because(fmt.Sprintf("delete pool %s", p.Name)).Delete(p)
		if has {
			b.Delete(st)
		}
		return b, nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev}, nil
}
