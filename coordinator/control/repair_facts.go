package control

import (
	"cmp"
	"slices"
	"time"

	"rvol/coordinator/decide/allocation"
	"rvol/coordinator/decide/repair"
	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// volume gathers what a repair depends on, and lets the clocks run of what is wrong.
func (Repair) volume(w World, vol *model.Volume, vs *model.VolumeStatus) repair.Volume {
	out := repair.Volume{Name: vol.Name, Layout: VolumeLayout(vs), Busy: busy(vs)}
	ps, _ := state.Get[*model.PoolStatus](w.State, vs.Configuration.Pool)
	for r := range state.Under[*model.Replica](w.State, vol.Name+"/") {
		out.Replicas = append(out.Replicas, repairReplica(w, vs, ps, r))
	}
	slices.SortFunc(out.Replicas, func(a, b repair.Replica) int { return cmp.Compare(a.ID, b.ID) })
	if cl, ok := state.Get[*model.Class](w.State, vol.Class); ok {
		out.RepairAfter, out.Rolling = cl.RepairAfter, cl.Conflict == model.ConflictRollingRepair
		out.Turn = turn(w.State, cl, vs)
	}
	out.Lasted = lasted(w, out)
	return out
}

// busy names the change that is under way and bears no other beside it.
func busy(vs *model.VolumeStatus) string {
	for _, t := range vs.Transitions {
		if !t.Compatible {
			return cmp.Or(t.Title, t.Type)
		}
	}
	return ""
}

// turn says whether a volume with replicas on nodes that are not eligible may be changed now.
// One that had to wait for somebody is tried again as long as a place in the row is free.
func turn(v state.View, cl *model.Class, vs *model.VolumeStatus) bool {
	if !vs.Conditions.Is(storageclass.SatisfyEligibleNodes, model.False) {
		return false
	}
	plan := storageclass.Repair(cl, ClassVolumes(v, cl.Name))
	c, _ := vs.Conditions.Get(repair.Needed)
	return slices.Contains(plan.Next, vs.Name) || c.Reason == repair.Blocked && len(plan.Running) < plan.Max
}

// lasted starts, keeps and ends the clocks of everything that may be wrong.
func lasted(w World, vol repair.Volume) func(int, repair.Cause) time.Duration {
	type key struct {
		id    int
		cause repair.Cause
	}
	found := map[key]bool{}
	for _, f := range repair.Findings(vol) {
		found[key{f.ID, f.Cause}] = true
	}
	for _, r := range vol.Replicas {
		r.Leaving = false // the clock goes on while it is being replaced: that may come to nothing
		if cause, _ := repair.Find(r); cause != "" {
			found[key{r.ID, cause}] = true
		}
	}
	times := map[key]time.Duration{}
	clock := func(name string, id int, counts bool) {
		for _, cause := range repair.Causes() {
			k := key{id, cause}
			times[k] = w.Held(string(cause)+" "+name, found[k] && (counts || cause != repair.NodeNotReady))
		}
	}
	for _, r := range vol.Replicas {
		clock(r.UID, r.ID, othersHeard(w, vol, r))
	}
	clock("missing", repair.None, true)
	return func(id int, cause repair.Cause) time.Duration { return times[key{id, cause}] }
}

// othersHeard says that the agents of all other members have reported since the election:
// a leader who hears nobody must not count.
func othersHeard(w World, vol repair.Volume, but repair.Replica) bool {
	return !slices.ContainsFunc(vol.Replicas, func(r repair.Replica) bool {
		if r.ID == but.ID || r.Part == "" {
			return false
		}
		seen := w.Inventory.Node(r.Node)
		return seen == nil || seen.Session == 0 || seen.Connected && !seen.Full
	})
}

// repairReplica gathers what is known of one replica.
func repairReplica(w World, vs *model.VolumeStatus, ps *model.PoolStatus, r *model.Replica) repair.Replica {
	m, _ := vs.Datamesh.Member(r.ID)
	out := repair.Replica{Replica: r, Part: m.Type, Leaving: transition.Leaving(vs, r.ID), Eligible: ps == nil || eligibleFor(ps, r)}
	if st, ok := state.Get[*model.NodeStatus](w.State, r.Node); ok {
		out.NodeReady, out.NodeSays = st.Ready, st.Reason
	}
	seen := w.Inventory.Node(r.Node)
	if !seen.Known() || blind(seen) != "" {
		return out
	}
	out.Known = true
	res, up := seen.Resource(model.ResourceName(r.Volume))
	out.Up, out.Disk = up, res.Disk()
	for reservation := range w.State.ReservationsOf(model.OwnerReplica, r.Name) {
		if !slices.ContainsFunc(r.Devices, func(d model.ReplicaDevice) bool { return d.Reservation == reservation.Name }) {
			continue
		}
		if gone := storageGone(seen, reservation); gone != "" {
			out.Gone, out.Reinstalled = gone, former(w.State, r.Node, reservation.Pool.VG)
		}
		out.Full = cmp.Or(out.Full, full(w.State, seen, reservation))
	}
	return out
}

// storageGone says what a full report lacks of what a reservation stands on.
func storageGone(seen *inventory.Node, res *model.Reservation) repair.Storage {
	vg, ok := seen.VG(res.Pool.VG)
	switch {
	case !ok:
		return repair.GroupGone
	case res.Pool.ThinLV != "" && !slices.ContainsFunc(vg.ThinPools, func(p inventory.ThinPool) bool { return p.UUID == res.Pool.ThinLV }):
		return repair.PoolGone
	case res.LVUUID != "" && !slices.ContainsFunc(vg.LVs, func(lv inventory.LV) bool { return lv.UUID == res.LVUUID }):
		return repair.VolumeGone
	}
	return ""
}

// former says that a volume group was one of the machine that had the node's name before.
func former(v state.View, node, vg string) bool {
	st, ok := state.Get[*model.NodeStatus](v, node)
	return ok && slices.Contains(st.Former, vg)
}

// full says why a thin pool takes no more data: DRBD lets go of a disk for that too.
func full(v state.View, seen *inventory.Node, res *model.Reservation) string {
	lvg, ok := state.Get[*model.LVG](v, model.LVGName(res.Pool.Node, res.VGName))
	if !ok || res.Pool.ThinLV == "" {
		return ""
	}
	vg, _ := seen.VG(res.Pool.VG)
	for _, p := range vg.ThinPools {
		if p.UUID == res.Pool.ThinLV {
			return stop(lvg, p, false)
		}
	}
	return ""
}

// otherGroup finds another place on the node of a copy whose disk is lost: there it keeps
// its node and zone, and may be in use meanwhile.
func otherGroup(v state.View, vol *model.Volume, vs *model.VolumeStatus, got repair.Verdict) (model.ReplicaPlace, bool) {
	r, ok := state.Get[*model.Replica](v, model.ReplicaName(vol.Name, got.ID))
	ps, has := state.Get[*model.PoolStatus](v, vs.Configuration.Pool)
	if !ok || !has || got.Do != repair.Replace || got.Cause == repair.NotEligible {
		return model.ReplicaPlace{}, false
	}
	best, room := model.ReplicaPlace{}, int64(0)
	for _, n := range ps.EligibleNodes {
		if n.Node != r.Node || n.Unschedulable {
			continue
		}
		for _, l := range n.LVGs {
			if free := freeIn(v, l, vol, vs); l.VG != r.VG && free > room {
				best, room = model.ReplicaPlace{Node: n.Node, VG: l.VG, ThinPool: l.ThinPool}, free
			}
		}
	}
	return best, room > 0
}

// freeIn is how much room a place has that can hold a copy of the volume; 0: it cannot.
func freeIn(v state.View, l model.EligibleLVG, vol *model.Volume, vs *model.VolumeStatus) int64 {
	record, known := state.Get[*model.Capacity](v, l.Pool.String())
	if l.Unschedulable || !l.Ready || !known {
		return 0
	}
	free := allocation.Available(ledger(record), v.Charged(l.Pool))
	if free < charge(vol, vs.DRBD, record.ExtentSize) {
		return 0
	}
	return free
}
