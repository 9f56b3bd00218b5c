package control

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"rvol/coordinator/decide/compare"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// orphanGrace is how long an LV must be seen that nobody knows before it is charged for:
// one that was just removed may still be in a report.
const orphanGrace = 10 * time.Second

// orphans charges for the LVs of a node that carry this cluster's tags and that the state
// has never heard of, as after an import into an empty coordinator: nobody may be given
// their space. They are never removed here. It returns when to look again.
func orphans(w World, seen *inventory.Node, b *state.Build) (again time.Duration) {
	cluster, ok := state.Get[*model.Cluster](w.State, model.ClusterName)
	if !ok {
		return 0
	}
	found := map[string]bool{}
	for lv, r := range ours(w.State, seen, cluster.ID) {
		held := w.Held("orphan "+lv, r != nil)
		if r == nil {
			continue
		}
		if held < orphanGrace && r.Revision == 0 {
			again = orphanGrace - held
			continue
		}
		found[r.Name] = true
		if old, ok := state.Get[*model.Reservation](w.State, r.Name); !ok || old.Observed != r.Observed {
			b.Put(r)
		}
	}
	forget(w.State, seen, found, b)
	return again
}

// ours visits the LVs of a node that carry our tags, by UUID, with the reservation that an
// unknown one is charged by; nil: it is known.
func ours(v state.View, seen *inventory.Node, cluster string) iter.Seq2[string, *model.Reservation] {
	return func(yield func(string, *model.Reservation) bool) {
		for lvg := range state.Under[*model.LVG](v, seen.Name+"/") {
			vg, _ := seen.VG(lvg.UUID)
			for _, lv := range vg.LVs {
				pool, offered := lvg.Pool(lv.ThinPool)
				if !offered || lv.Reservation == "" || lv.Cluster != cluster {
					continue
				}
				if !yield(lv.UUID, orphan(v, lvg, pool, lv)) {
					return
				}
			}
		}
	}
}

// forget charges no more for orphans that are gone, or known by now.
func forget(v state.View, seen *inventory.Node, found map[string]bool, b *state.Build) {
	for c := range state.Under[*model.Capacity](v, seen.Name+"/") {
		for r := range v.ReservationsIn(c.Pool) {
			if _, there := seen.VG(r.Pool.VG); r.OwnerKind == model.OwnerOrphan && r.State != model.Releasing && there && !found[r.Name] {
				b.Delete(r)
			}
		}
	}
}

// RemoveOrphan is the change that lets the agent destroy an orphan: its reservation takes
// the name in the LV's tag, which the agent compares, and waits for the proof.
func RemoveOrphan(v state.View, r *model.Reservation, tag string, b *state.Build) (*state.Build, error) {
	if other, ok := state.Get[*model.Reservation](v, tag); ok {
		return nil, fmt.Errorf("%w: its tag is that of the reservation of %s on node %s: is its disk a copy?", model.ErrBusy, other.Owner, other.Pool.Node)
	}
	next := model.Clone(r)
	next.Name, next.Revision, next.State = tag, 0, model.Releasing
	if volume, of := compare.VolumeOfLV(r.LV); volume != "" {
		next.Owner = model.ReplicaName(volume, of.Replica)
	}
	return b.Because(fmt.Sprintf("remove orphan %s on node %s", r.LV, r.Pool.Node)).Delete(r).Put(next), nil
}

// orphan is the reservation that an unknown LV is charged by; nil: it is known.
func orphan(v state.View, lvg *model.LVG, pool model.PoolID, lv inventory.LV) *model.Reservation {
	if r, ok := state.Get[*model.Reservation](v, lv.Reservation); ok && r.Pool == pool {
		return nil
	}
	r := &model.Reservation{
		OwnerKind: model.OwnerOrphan, Owner: lv.Name, Pool: pool, VGName: lvg.VG, ThinPool: lv.ThinPool,
		LV: lv.Name, LVUUID: lv.UUID, Observed: lv.Size, State: model.Bound, Imported: true,
	}
	r.Name = strings.ToLower(model.OwnerOrphan + "." + pool.Node + "." + lv.UUID)
	if old, ok := state.Get[*model.Reservation](v, r.Name); ok {
		r.Revision, r.Kept = old.Revision, old.Kept
	}
	return r
}
