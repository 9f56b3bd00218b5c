package control

import (
	"strings"
	"time"

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
	for lvg := range state.Under[*model.LVG](w.State, seen.Name+"/") {
		vg, _ := seen.VG(lvg.UUID)
		for _, lv := range vg.LVs {
			pool, offered := lvg.Pool(lv.ThinPool)
			if !offered || lv.Reservation == "" || lv.Cluster != cluster.ID {
				continue
			}
			r := orphan(w.State, lvg, pool, lv)
			held := w.Held("orphan "+lv.UUID, r != nil)
			switch {
			case r == nil:
				continue
			case held < orphanGrace && r.Revision == 0:
				again = orphanGrace - held
				continue
			}
			found[r.Name] = true
			if old, ok := state.Get[*model.Reservation](w.State, r.Name); !ok || old.Observed != lv.Size {
				b.Put(r)
			}
		}
	}
	for c := range state.Under[*model.Capacity](w.State, seen.Name+"/") {
		for r := range w.State.ReservationsIn(c.Pool) {
			if _, there := seen.VG(r.Pool.VG); r.OwnerKind == model.OwnerOrphan && there && !found[r.Name] {
				b.Delete(r) // gone, or known by now
			}
		}
	}
	return again
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
		r.Revision = old.Revision
	}
	return r
}
