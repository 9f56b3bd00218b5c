package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

type plans struct {
	adminv1.UnimplementedPlansServer
	*api
}

// allAlternatives is more than any pool has places.
const allAlternatives = 1 << 30

// Placement says where the replicas of a new volume would go.
func (s *plans) Placement(_ context.Context, r *adminv1.PlanPlacementRequest) (*adminv1.Decision, error) {
	v := s.Store.View()
	class, err := find[*model.Class](v, r.GetClass())
	if err != nil {
		return nil, err
	}
	cs, ok := state.Get[*model.ClassStatus](v, class.Name)
	if !ok || cs.Configuration == nil {
		return nil, door.Refuse(model.ErrBusy, class.Key(), "it is not ready: no volume could be made from it", "see `rvol class show "+class.Name+"`")
	}
	ps, ok := state.Get[*model.PoolStatus](v, cs.Configuration.Pool)
	if !ok {
		return nil, door.Refuse(model.ErrBusy, class.Key(), "pool "+cs.Configuration.Pool+" has not been looked at yet", "ask again in a moment")
	}
	vol := &model.Volume{AttachTo: r.GetAttachTo()}
	vol.Name = "(planned)"
	if err := setDevices(vol, r.GetSizes()); err != nil {
		return nil, err
	}
	for _, node := range vol.AttachTo {
		if _, err := find[*model.Node](v, node); err != nil {
			return nil, err
		}
	}
	vs := &model.VolumeStatus{Configuration: cs.Configuration, DRBD: storageclass.DRBD(class.FTT, class.GMDR, ps.EligibleNodes)}
	n := int(r.GetAlternatives())
	if n <= 0 {
		n = allAlternatives
	}
	got := control.Plan(v, vol, vs, plannedReplicas(vol.Name, vs), n)
	d := &model.Decision{Seen: v.Index(), Placed: got.Whole(), Size: got.Size}
	if got.Search != nil {
		d.Search = got.Search.Why + ": " + got.Search.Says
	}
	return decisionOf(d, control.DecisionReplicas(got.Result, got.Whole())), nil
}

func plannedReplicas(volume string, vs *model.VolumeStatus) []*model.Replica {
	l := control.VolumeLayout(vs)
	var out []*model.Replica
	for id := range l.Diskful + l.TieBreakers {
		r := &model.Replica{Volume: volume, ID: id, Type: model.Diskful}
		if id >= l.Diskful {
			r.Type = model.TieBreaker
		}
		r.Name = model.ReplicaName(volume, id)
		out = append(out, r)
	}
	return out
}

// ExplainVolume tells where the replicas of a volume are, and how that was decided.
func (s *plans) ExplainVolume(_ context.Context, r *adminv1.ExplainVolumeRequest) (*adminv1.VolumeExplanation, error) {
	v := s.Store.View()
	vol, err := find[*model.Volume](v, r.GetName())
	if err != nil {
		return nil, err
	}
	out := &adminv1.VolumeExplanation{Volume: vol.Name}
	for rep := range state.Under[*model.Replica](v, vol.Name+"/") {
		c, _ := rep.Conditions.Get("Scheduled")
		now := &adminv1.DecisionReplica{
			Id: int32(rep.ID), Type: string(rep.Type), Node: rep.Node, Vg: rep.VG, ThinPool: rep.ThinPool, Reason: c.Reason, Message: c.Message,
		}
		if rep.WaitingSince != 0 {
			now.Message += fmt.Sprintf("; it waits since entry %d", rep.WaitingSince)
		}
		out.Now = append(out.Now, now)
	}
	slices.SortFunc(out.Now, func(a, b *adminv1.DecisionReplica) int { return cmp.Compare(a.GetId(), b.GetId()) })
	if vs, ok := state.Get[*model.VolumeStatus](v, vol.Name); ok {
		out.Pending = pendingOf(vs)
	}
	decisions := slices.Collect(state.Under[*model.Decision](v, vol.Name+"/"))
	slices.SortFunc(decisions, func(a, b *model.Decision) int { return cmp.Compare(b.Revision, a.Revision) })
	for _, d := range decisions {
		replicas, err := d.Told()
		if err != nil {
			return nil, err
		}
		out.Decisions = append(out.Decisions, decisionOf(d, replicas))
	}
	out.Events, err = s.newest(&adminv1.ListEventsRequest{Volume: vol.Name, Limit: explained})
	return out, err
}

func decisionOf(d *model.Decision, replicas []model.DecisionReplica) *adminv1.Decision {
	out := &adminv1.Decision{Entry: d.Revision, At: timestamp(d.At), Seen: d.Seen, Placed: d.Placed, Size: d.Size, Search: d.Search}
	for _, r := range replicas {
		p := &adminv1.DecisionReplica{
			Id: int32(r.ID), Type: string(r.Type), Node: r.Node, Vg: r.VG, ThinPool: r.ThinPool, Chosen: r.Chosen, BySearch: r.BySearch,
			Reason: r.Reason, Message: r.Message, Summary: r.Summary, Omitted: int32(r.Omitted),
		}
		for _, a := range r.Alternatives {
			alt := &adminv1.Alternative{
				Node: a.Node, Vg: a.VG, ThinPool: a.ThinPool, Zone: a.Zone, Chosen: a.Chosen,
				ExcludedBy: a.ExcludedBy, Score: a.Score, Available: a.Available,
			}
			for _, part := range a.Parts {
				alt.Parts = append(alt.Parts, &adminv1.ScorePart{Rule: part.Rule, Points: part.Points})
			}
			p.Alternatives = append(p.Alternatives, alt)
		}
		out.Replicas = append(out.Replicas, p)
	}
	return out
}
