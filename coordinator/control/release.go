package control

import (
	"fmt"

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
	for r := range w.State.ReplicasOn(key) {
		if r.Deleting() {
			c.release(w, seen, r, b)
		}
	}
	c.orphans(w, seen, b)
	return Outcome{Txn: b}, nil
}

// orphans takes away the reservations of orphans that an operator removed, once they are
// proven gone.
func (Release) orphans(w World, seen *inventory.Node, b *state.Build) {
	for c := range state.Under[*model.Capacity](w.State, seen.Name+"/") {
		for res := range w.State.ReservationsIn(c.Pool) {
			if res.OwnerKind == model.OwnerOrphan && res.State == model.Releasing && seen.Released[res.Name] && seen.Accepted.Index >= res.Revision {
				b.Delete(res).Because(fmt.Sprintf("orphan %s on %s is gone", res.LV, seen.Name))
			}
		}
	}
}

// release takes away what is proven gone of one deleted replica.
func (Release) release(w World, seen *inventory.Node, r *model.Replica, b *state.Build) {
	left := 0
	if r.Diskless() && !seen.Released[r.ReleaseName()] {
		left++
	}
	for res := range w.State.ReservationsOf(model.OwnerReplica, r.Name) {
		if res.State != model.Releasing || !seen.Released[res.Name] || seen.Accepted.Index < res.Revision {
			left++
			continue
		}
		b.Delete(res).Because(fmt.Sprintf("release %s: its LV %s on %s is gone", r.Name, res.LV, seen.Name))
	}
	_, up := seen.Resource(model.ResourceName(r.Volume))
	_, known := seen.Replicas[r.UID]
	if left == 0 && !up && !known && seen.Accepted.Index >= r.Revision {
		b.Delete(r).Because(fmt.Sprintf("remove replica %s: nothing of it is left on %s", r.Name, seen.Name))
	}
}
