package admin

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

type classes struct {
	adminv1.UnimplementedClassesServer
	*api
}

// List tells of classes what they ask for, and whether the nodes can give it.
func (s *classes) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListClassesResponse, error) {
	v := s.Store.View()
	picked, err := pick[*model.Class](v, q)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListClassesResponse{}
	for _, c := range picked {
		out.Classes = append(out.Classes, classOf(v, c))
	}
	return out, nil
}

func (s *classes) one(name string) (*adminv1.Class, error) {
	v := s.Store.View()
	c, err := find[*model.Class](v, name)
	if err != nil {
		return nil, err
	}
	return classOf(v, c), nil
}

func classOf(v state.View, c *model.Class) *adminv1.Class {
	out := &adminv1.Class{
		Meta: meta(&c.Meta), Ftt: int32(c.FTT), Gmdr: int32(c.GMDR), Replication: string(layout.ReplicationOf(c.FTT, c.GMDR)),
		Topology: string(c.Topology), VolumeAccess: string(c.VolumeAccess), Pool: c.Pool, Storage: storageOf(c.Storage),
		Zones: c.Zones, NodeSelector: c.NodeSelector, SystemNetworks: c.SystemNetworks, NotReadyGrace: duration(c.NotReadyGrace),
		Rollout: c.Rollout, RolloutMaxParallel: int32(c.RolloutMax), Conflict: c.Conflict, ConflictMaxParallel: int32(c.ConflictMax),
		RepairAfter: durationpb.New(c.RepairAfter), OnNoQuorum: c.OnNoQuorum, Wipe: c.Wipe, TrustZeroed: c.TrustZeroed,
		VerifyEvery: duration(c.VerifyEvery), Drbd: c.DRBD, PoolName: c.Pool,
	}
	st, ok := state.Get[*model.ClassStatus](v, c.Name)
	if !ok {
		out.Layout = layout.Formula(c.FTT, c.GMDR).Short()
		out.Conditions = conditions([]model.Condition{{Type: "Ready", Status: model.Unknown, Reason: "Pending", Message: "it has not been looked at yet"}})
		return out
	}
	out.PoolName, out.ConfigurationGeneration, out.Conditions = st.PoolName, st.ConfigurationGeneration, conditions(classConditions(c, st))
	out.Layout = classLayout(v, c, st.PoolName).Short()
	n := st.Volumes
	out.Volumes = &adminv1.VolumeCounts{
		Total: int32(n.Total), Aligned: optional32(n.Aligned), StaleConfiguration: optional32(n.StaleConfiguration),
		InConflictWithEligibleNodes: int32(n.InConflictWithEligibleNodes), PendingObservation: int32(n.PendingObservation), UsedPools: n.UsedPools,
	}
	return out
}

// classConditions are those of a class; what a newer generation does to its volumes is not
// known before that was looked at.
func classConditions(c *model.Class, st *model.ClassStatus) model.Conditions {
	if r, ok := st.Conditions.Get(storageclass.ConfigurationRolledOut); ok && r.ObservedGeneration < c.Generation {
		r.Status, r.Reason = model.Unknown, "NewConfigurationNotYetObserved"
		r.Message = fmt.Sprintf("generation %d has not been looked at yet", c.Generation)
		return st.Conditions.With(r, r.LastTransition)
	}
	return st.Conditions
}

// classLayout is the layout a new volume of the class would get on the nodes of its pool.
func classLayout(v state.View, c *model.Class, pool string) layout.Layout {
	var nodes []model.EligibleNode
	if ps, ok := state.Get[*model.PoolStatus](v, pool); ok {
		nodes = ps.EligibleNodes
	}
	l, err := storageclass.Layout(c, nodes)
	if err != nil {
		return layout.Formula(c.FTT, c.GMDR)
	}
	return l
}

// Create makes a class. What it leaves open is written down with its default.
func (s *classes) Create(ctx context.Context, r *adminv1.Class) (*adminv1.Class, error) {
	name, spec := r.GetMeta().GetName(), &adminv1.ClassSpec{Labels: r.GetMeta().GetLabels(), Properties: r.GetMeta().GetProperties()}
	copySame(spec, r)
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		if old, ok := state.Get[*model.Class](v, name); ok {
			reason := "exists already"
			if old.Deleting() {
				reason = "a class of that name is being deleted"
			}
			return nil, door.Refuse(model.ErrExists, old.Key(), reason, "")
		}
		c, err := newClass(name, spec)
		if err != nil {
			return nil, err
		}
		if c.Pool != "" {
			p, err := namedPool(v, c)
			if err != nil {
				return nil, err
			}
			b.Expect(p.Key(), p.Revision)
		}
		return b.Because(fmt.Sprintf("make class %s: FTT %d, GMDR %d", name, c.FTT, c.GMDR)).Put(c), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(name)
}

// namedPool is the pool that a class names.
func namedPool(v state.View, c *model.Class) (*model.Pool, error) {
	p, err := find[*model.Pool](v, c.Pool)
	if err != nil {
		return nil, err
	}
	if p.Generated {
		return nil, door.Invalid(c.Key(), "pool %s is made from a class and goes with it: give the storage itself", p.Name)
	}
	return p, nil
}

// newClass makes a class of what people wrote.
func newClass(name string, r *adminv1.ClassSpec) (*model.Class, error) {
	if err := model.CheckName("class", name, model.MaxName); err != nil {
		return nil, err
	}
	c := &model.Class{
		Meta: newMeta(name, r.GetLabels(), time.Now()), Pool: r.GetPool(), Zones: r.GetZones(),
		NodeSelector: r.GetNodeSelector(), TrustZeroed: r.GetTrustZeroed(), DRBD: r.GetDrbd(),
	}
	c.Properties = r.GetProperties()
	for _, step := range []func(*model.Class, *adminv1.ClassSpec) error{failures, place, strategies, options} {
		if err := step(c, r); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// failures reads what volumes outlive, and what zones mean for it.
func failures(c *model.Class, r *adminv1.ClassSpec) error {
	topology, err := layout.ParseTopology(r.GetTopology())
	if err != nil {
		return door.Invalid(c.Key(), "%s", err)
	}
	c.Topology, c.FTT, c.GMDR = model.Topology(topology), int(r.GetFtt()), int(r.GetGmdr())
	if r.GetReplication() != "" {
		if c.FTT != 0 || c.GMDR != 0 {
			return door.Invalid(c.Key(), "replication %s stands for FTT and GMDR: give the one or the other", r.GetReplication())
		}
		if c.FTT, c.GMDR, err = layout.Replication(r.GetReplication()).FailureNumbers(); err != nil {
			return door.Invalid(c.Key(), "%s", err)
		}
	}
	if err := layout.CheckTopology(c.FTT, c.GMDR, topology); err != nil {
		return door.Invalid(c.Key(), "%s", err)
	}
	access, err := oneOf(c.Key(), "volume access", r.GetVolumeAccess(), string(model.AccessPreferablyLocal), string(model.AccessAny), string(model.AccessLocal))
	c.VolumeAccess = model.VolumeAccess(access)
	return err
}

// place reads where volumes may be.
func place(c *model.Class, r *adminv1.ClassSpec) (err error) {
	if (c.Pool != "") == (r.GetStorage() != nil) {
		return door.Invalid(c.Key(), "name a pool, or say what to make one from: one of the two")
	}
	if c.Pool != "" {
		return onlyPool(c, r)
	}
	if c.Storage, err = storage(c.Key(), r.GetStorage()); err != nil {
		return err
	}
	if err := checkZones(c.Key(), c.Zones); err != nil {
		return err
	}
	if err := checkSelector(c.Key(), "selector of nodes", c.NodeSelector); err != nil {
		return err
	}
	if c.SystemNetworks, err = networks(c.Key(), r.GetSystemNetworks()); err != nil {
		return err
	}
	c.NotReadyGrace, err = atLeast(c.Key(), "grace of nodes that are not Ready", r.GetNotReadyGrace(), model.DefaultNotReadyGrace)
	return err
}

// onlyPool refuses to say twice which nodes a class may use: a named pool says it.
func onlyPool(c *model.Class, r *adminv1.ClassSpec) error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"zones", len(r.GetZones()) > 0},
		{"node_selector", r.GetNodeSelector() != ""},
		{"system_networks", len(r.GetSystemNetworks()) > 0},
		{"not_ready_grace", r.GetNotReadyGrace() != nil},
	} {
		if f.given {
			return door.Invalid(c.Key(), "%s is a matter of pool %s: leave it out here", f.name, c.Pool)
		}
	}
	return nil
}

// strategies reads what happens to volumes when the class or the nodes change.
func strategies(c *model.Class, r *adminv1.ClassSpec) (err error) {
	if c.Rollout, err = oneOf(c.Key(), "rollout", r.GetRollout(), model.RolloutRollingUpdate, model.RolloutNewVolumesOnly); err != nil {
		return err
	}
	if c.Conflict, err = oneOf(c.Key(), "conflict resolution", r.GetConflict(), model.ConflictRollingRepair, model.ConflictManual); err != nil {
		return err
	}
	if c.RolloutMax, err = parallel(c.Key(), "rollout", r.GetRolloutMaxParallel()); err != nil {
		return err
	}
	if c.ConflictMax, err = parallel(c.Key(), "conflict resolution", r.GetConflictMaxParallel()); err != nil {
		return err
	}
	c.RepairAfter, err = atLeast(c.Key(), "repair after", r.GetRepairAfter(), model.DefaultRepairAfter)
	return err
}

func parallel(about model.Key, what string, n int32) (int, error) {
	if n == 0 {
		return model.DefaultMaxParallel, nil
	}
	return within(about, "volumes at a time in "+what, n, 1, 200)
}

// options reads what DRBD and LVM are told.
func options(c *model.Class, r *adminv1.ClassSpec) (err error) {
	if c.OnNoQuorum, err = oneOf(c.Key(), "on no quorum", r.GetOnNoQuorum(), "suspend-io", "io-error"); err != nil {
		return err
	}
	if c.Wipe, err = oneOf(c.Key(), "wipe", r.GetWipe(), "none", "discard", "zero"); err != nil {
		return err
	}
	if c.VerifyEvery, err = atLeast(c.Key(), "verify every", r.GetVerifyEvery(), 0); err != nil {
		return err
	}
	if err := checkTuning(c.Key(), c.DRBD); err != nil {
		return err
	}
	if err := checkProperties(c.Key(), c.Properties); err != nil {
		return err
	}
	return invalid(c.Key(), model.CheckLabels(c.Labels))
}
