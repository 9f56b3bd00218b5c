package control

import (
	"fmt"
	"maps"
	"slices"

	"rvol/coordinator/decide/repair"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Release gives space and numbers back: a reservation when its agent has proven the LV
// gone, a deleted replica when its last reservation and its resource are.
type Release struct{}

// Name is the controller's name.
func (Release) Name() string { return "release" }

// Affected names the node of a changed reservation or replica.
func (Release) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindReservation:
		if r, ok := state.Get[*model.Reservation](v, changed.Name); ok && r.State == model.Releasing {
			return []string{r.Pool.Node}
		}
	case model.KindReplica:
		if r, ok := state.Get[*model.Replica](v, changed.Name); ok && r.Deleting() {
			return []string{r.Node}
		}
	default:
	}
	return nil
}

// AffectedBy names the node itself.
func (Release) AffectedBy(node string, _ state.View) []string { return []string{node} }

// All lists all nodes.
func (Release) All(v state.View) []string { return names[*model.Node](v) }

// Decide believes only a full report of a session that has accepted the order which
// released the reservation: silence and partial views prove nothing.
func (c Release) Decide(w World, key string) (Outcome, error) {
	seen := w.Inventory.Node(key)
	if !seen.Known() || seen.DRBDError != "" || seen.StorageError != "" {
		return Outcome{Reason: "no complete inventory of " + key}, nil
	}
	b := state.NewTxn(Actor(c), "")
	gone := c.reservations(w, seen, b)
	for r := range w.State.ReplicasOn(key) {
		if r.Deleting() && !c.former(w.State, seen, r, b) {
			c.replica(w.State, seen, r, gone, b)
		}
	}
	return Outcome{Txn: b}, nil
}

// reservations takes away those whose volume is proven gone, and tells which they are.
func (Release) reservations(w World, seen *inventory.Node, b *state.Build) map[string]bool {
	v, gone, leftovers := w.State, map[string]bool{}, false
	for _, name := range slices.Sorted(maps.Keys(seen.Released)) {
		res, ok := state.Get[*model.Reservation](v, name)
		if ok && slices.Contains(removable, res.OwnerKind) && res.Pool.Node == seen.Name && res.State == model.Releasing && seen.Accepted.Index >= res.Revision {
			gone[name] = true
			b.Delete(res).Because(fmt.Sprintf("release %s: its LV %s on %s is gone", res.Owner, res.LV, seen.Name))
			leftovers = leftovers || res.Leftover != ""
		}
	}
	if leftovers {
		rested(v, seen.Name, w.Now, b)
	}
	return gone
}

// former takes away a deleted replica all of which was on volume groups of the machine that
// had the node's name before. True: it did. Its agent looks for them in vain, and says so.
func (Release) former(v state.View, seen *inventory.Node, r *model.Replica, b *state.Build) bool {
	var all []*model.Reservation
	for res := range v.ReservationsOf(model.OwnerReplica, r.Name) {
		if res.State != model.Releasing || !former(v, seen.Name, res.Pool.VG) || storageGone(seen, res) != repair.GroupGone {
			return false
		}
		all = append(all, res)
	}
	if _, up := seen.Resource(model.ResourceName(r.Volume)); up || len(all) == 0 || seen.Accepted.Index < r.Revision {
		return false
	}
	for _, res := range all {
		b.Delete(res)
	}
	b.Delete(r).Because(fmt.Sprintf("remove replica %s: node %s was set up anew, without its volume group", r.Name, seen.Name))
	return true
}

// removable are the kinds of owners whose volumes agents remove: replicas, and orphans that
// an operator gave up.
var removable = []string{model.OwnerReplica, model.OwnerOrphan}

// replica takes a deleted replica away of which nothing is left.
func (Release) replica(v state.View, seen *inventory.Node, r *model.Replica, gone map[string]bool, b *state.Build) {
	if r.Diskless() && !seen.Released[r.ReleaseName()] {
		return
	}
	for res := range v.ReservationsOf(model.OwnerReplica, r.Name) {
		if !gone[res.Name] {
			return
		}
	}
	_, up := seen.Resource(model.ResourceName(r.Volume))
	_, known := seen.Replicas[r.UID]
	if !up && !known && seen.Accepted.Index >= r.Revision {
		b.Delete(r).Because(fmt.Sprintf("remove replica %s: nothing of it is left on %s", r.Name, seen.Name))
	}
}
