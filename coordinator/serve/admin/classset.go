package admin

import (
	"context"
	"maps"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Set changes a class, except for what never changes: topology, storage, zones, access,
// nodes, networks and grace.
func (s *classes) Set(ctx context.Context, r *adminv1.SetClassRequest) (*adminv1.Class, error) {
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		old, err := find[*model.Class](v, r.GetName())
		if err != nil {
			return nil, err
		}
		if old.Deleting() {
			return nil, door.Refuse(model.ErrBusy, old.Key(), "it is being deleted", "")
		}
		c := model.Clone(old)
		c.Generation++
		for _, step := range []func(*model.Class, *adminv1.SetClassRequest) error{setFailures, setStrategies, setOptions} {
			if err := step(c, r); err != nil {
				return nil, err
			}
		}
		return b.Because("change class " + c.Name).Put(c), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(r.GetName())
}

func setFailures(c *model.Class, r *adminv1.SetClassRequest) (err error) {
	if r.Replication != nil {
		if r.Ftt != nil || r.Gmdr != nil {
			return door.Invalid(c.Key(), "replication %s stands for FTT and GMDR: give the one or the other", r.GetReplication())
		}
		if c.FTT, c.GMDR, err = layout.Replication(r.GetReplication()).FailureNumbers(); err != nil {
			return door.Invalid(c.Key(), "%s", err)
		}
	}
	if r.Ftt != nil {
		c.FTT = int(r.GetFtt())
	}
	if r.Gmdr != nil {
		c.GMDR = int(r.GetGmdr())
	}
	if err := layout.CheckTopology(c.FTT, c.GMDR, layout.Topology(c.Topology)); err != nil {
		return door.Invalid(c.Key(), "%s", err)
	}
	return nil
}

func setStrategies(c *model.Class, r *adminv1.SetClassRequest) (err error) {
	if r.Rollout != nil {
		if c.Rollout, err = oneOf(c.Key(), "rollout", r.GetRollout(), model.RolloutRollingUpdate, model.RolloutNewVolumesOnly); err != nil {
			return err
		}
	}
	if r.Conflict != nil {
		if c.Conflict, err = oneOf(c.Key(), "conflict resolution", r.GetConflict(), model.ConflictRollingRepair, model.ConflictManual); err != nil {
			return err
		}
	}
	if r.RolloutMaxParallel != nil {
		if c.RolloutMax, err = parallel(c.Key(), "rollout", r.GetRolloutMaxParallel()); err != nil {
			return err
		}
	}
	if r.ConflictMaxParallel != nil {
		if c.ConflictMax, err = parallel(c.Key(), "conflict resolution", r.GetConflictMaxParallel()); err != nil {
			return err
		}
	}
	c.RepairAfter, err = atLeast(c.Key(), "repair after", r.GetRepairAfter(), c.RepairAfter)
	return err
}

func setOptions(c *model.Class, r *adminv1.SetClassRequest) (err error) {
	if r.OnNoQuorum != nil {
		if c.OnNoQuorum, err = oneOf(c.Key(), "on no quorum", r.GetOnNoQuorum(), "suspend-io", "io-error"); err != nil {
			return err
		}
	}
	if r.Wipe != nil {
		if c.Wipe, err = oneOf(c.Key(), "wipe", r.GetWipe(), "none", "discard", "zero"); err != nil {
			return err
		}
	}
	if c.VerifyEvery, err = atLeast(c.Key(), "verify every", r.GetVerifyEvery(), c.VerifyEvery); err != nil {
		return err
	}
	c.DRBD = merged(c.DRBD, r.GetDrbd())
	if err := checkTuning(c.Key(), c.DRBD); err != nil {
		return err
	}
	c.Labels, err = relabel(c.Labels, r.GetLabels())
	return invalid(c.Key(), err)
}

// merged is old with changes over it; an empty value takes a key away.
func merged(old, changes map[string]string) map[string]string {
	out := maps.Clone(old)
	for k, v := range changes {
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
		if v == "" {
			delete(out, k)
		}
	}
	return out
}

// Delete removes a class that no volume uses; the pool made from it goes with it.
func (s *classes) Delete(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		c, err := find[*model.Class](v, r.GetName())
		if err != nil {
			return nil, err
		}
		for vol := range v.VolumesOfClass(c.Name) {
			return nil, door.Refuse(model.ErrBusy, c.Key(), "volume "+vol.Name+" uses it", "delete its volumes first: `rvol volume list`")
		}
		return b.Because("delete class " + c.Name).Delete(c), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev}, nil
}
