package control

import (
	"rvol/coordinator/decide/scheduling"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// decide adds the decision to the transaction. Of each volume the last few are kept; one
// refusal after another counts as one.
func (p *placing) decide(placed bool) error {
	d := &model.Decision{
		Volume: p.vol.Name, At: p.w.Now, Size: p.in.Size, Seen: p.w.State.Index(), Placed: placed,
	}
	if s := p.got.Search; s != nil {
		d.Search = s.Why + ": " + s.Says
	}
	slot, over := slotFor(p.w.State, p.vol.Name, placed)
	d.Name = model.DecisionName(p.vol.Name, slot)
	if over != nil {
		d.Revision = over.Revision
	}
	if err := d.Tell(DecisionReplicas(p.got, placed)); err != nil {
		return err
	}
	p.b.Put(d)
	return nil
}

// slotFor is where the next decision of a volume goes, and the one that it replaces.
func slotFor(v state.View, volume string, placed bool) (slot int, over *model.Decision) {
	var oldest, newest *model.Decision
	var oldestSlot, newestSlot int
	for i := range model.MaxDecisions {
		d, ok := state.Get[*model.Decision](v, model.DecisionName(volume, i))
		if !ok {
			if newest != nil && !newest.Placed && !placed {
				return newestSlot, newest
			}
			return i, nil
		}
		if oldest == nil || d.Revision < oldest.Revision {
			oldest, oldestSlot = d, i
		}
		if newest == nil || d.Revision > newest.Revision {
			newest, newestSlot = d, i
		}
	}
	if !newest.Placed && !placed {
		return newestSlot, newest
	}
	return oldestSlot, oldest
}

// DecisionReplicas writes a result down: what was chosen for each replica, and what else
// there was. Of one that was not carried out, nothing counts as chosen.
func DecisionReplicas(got scheduling.Result, placed bool) []model.DecisionReplica {
	out := make([]model.DecisionReplica, 0, len(got.Replicas))
	for _, pl := range got.Replicas {
		r := model.DecisionReplica{
			ID: pl.ID, Type: model.ReplicaType(pl.Type), Node: pl.Place.Node, VG: pl.Place.LVG, ThinPool: pl.Place.ThinPool,
			Chosen: pl.Chosen && placed, Reason: pl.Reason, Message: pl.Message,
		}
		if pl.Chosen && !placed {
			r.Reason, r.Message = scheduling.ReasonSchedulingFailed, nowhere(got, pl.Place)
			r.Node, r.VG, r.ThinPool = "", "", ""
		}
		if d := pl.Diagnosis; d != nil {
			r.BySearch, r.Summary, r.Omitted = d.BySearch, d.String(), d.Omitted
			r.Alternatives = make([]model.Alternative, 0, len(d.Alternatives))
			for _, a := range d.Alternatives {
				r.Alternatives = append(r.Alternatives, alternative(a))
			}
		}
		out = append(out, r)
	}
	return out
}

func alternative(a scheduling.Alternative) model.Alternative {
	out := model.Alternative{
		Node: a.Node, VG: a.LVG, ThinPool: a.ThinPool, Zone: a.Zone, Chosen: a.Chosen,
		ExcludedBy: a.ExcludedBy, Score: a.Score, Available: a.Available,
	}
	for _, p := range a.Parts {
		out.Parts = append(out.Parts, model.ScorePart{Rule: p.Rule, Points: p.Points})
	}
	return out
}
