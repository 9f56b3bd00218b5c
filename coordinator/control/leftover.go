package control

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"rvol/coordinator/decide/leftover"
	"rvol/coordinator/decide/repair"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Leftover lets agents remove what was deleted while their node was away: so much in a period.
type Leftover struct {
	Limits leftover.Limits // zero: the defaults
}

// Name is the controller's name.
func (Leftover) Name() string { return "leftover" }

// Affected names the node of a changed reservation, and one whose status changed.
func (Leftover) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindReservation:
		if r, ok := state.Get[*model.Reservation](v, changed.Name); ok && r.Leftover != "" {
			return []string{r.Pool.Node}
		}
	case model.KindNodeStatus:
		return []string{changed.Name}
	default:
	}
	return nil
}

// AffectedBy names the node itself.
func (Leftover) AffectedBy(node string, _ state.View) []string { return []string{node} }

// All lists all nodes.
func (Leftover) All(v state.View) []string { return names[*model.Node](v) }

// Decide lets leftovers of a node go when their time has come. The time is this leader's, counted
// while the node's agent has reported: an election makes it longer, never shorter.
func (c Leftover) Decide(w World, key string) (Outcome, error) {
	in, st := Leftovers(w.State, key)
	if st == nil {
		return Outcome{}, nil
	}
	seen := w.Inventory.Node(key)
	in.Known = seen.Known() && seen.DRBDError == "" && seen.StorageError == ""
	in.Reservations = slices.DeleteFunc(in.Reservations, func(r *model.Reservation) bool {
		return r.Leftover == model.LeftoverWaiting && storageGone(seen, r) == repair.GroupGone // a turn would be of no use to it
	})
	if in.Newest != nil {
		in.Quiet = w.Held("since "+strconv.FormatInt(in.Newest.At.UnixNano(), 10), in.Known)
	}
	got := leftover.Decide(c.Limits.OrDefault(), in)
	out := Outcome{Again: got.Again}
	if left := got.Waiting - len(got.Grant); left > 0 {
		out.Reason = fmt.Sprintf("%d leftovers wait for their turn", left)
	}
	switch {
	case len(got.Grant) > 0:
		b := state.NewTxn(Actor(c), fmt.Sprintf("node %s: remove %d of %d leftovers: %s", key, len(got.Grant), got.Waiting, LVsOf(got.Grant)))
		out.Txn = LetGo(b, st, got.Grant, got.Newest.Granted, w.Now)
	case got.Newest != in.Newest:
		next := model.Clone(st)
		next.Leftovers = nil
		out.Txn = state.NewTxn(Actor(c), fmt.Sprintf("node %s: leftovers have rested for long enough", key)).Put(next)
	}
	return out, nil
}

// Leftovers gathers what a node has of replicas, and what is remembered of leftovers that were let
// go there. The status is nil when there is no such node.
func Leftovers(v state.View, node string) (leftover.Input, *model.NodeStatus) {
	st, _ := state.Get[*model.NodeStatus](v, node)
	in := leftover.Input{Reservations: ReservationsOn(v, node)}
	if st != nil {
		in.Newest = st.Leftovers
	}
	return in, st
}

// ReservationsOn are the reservations of replicas on a node, also of those that are gone.
func ReservationsOn(v state.View, node string) []*model.Reservation {
	found := map[string]*model.Reservation{}
	for r := range v.ReplicasOn(node) {
		for res := range v.ReservationsOf(model.OwnerReplica, r.Name) {
			found[res.Name] = res
		}
	}
	for c := range state.Under[*model.Capacity](v, node+"/") {
		for res := range v.ReservationsIn(c.Pool) {
			found[res.Name] = res
		}
	}
	maps.DeleteFunc(found, func(_ string, r *model.Reservation) bool {
		return r.OwnerKind != model.OwnerReplica || r.Pool.Node != node
	})
	return slices.SortedFunc(maps.Values(found), func(a, b *model.Reservation) int { return cmp.Compare(a.Name, b.Name) })
}

// LetGo is the change that lets a node's agent remove leftovers, and remembers it.
func LetGo(b *state.Build, st *model.NodeStatus, list []*model.Reservation, granted int, now time.Time) *state.Build {
	for _, r := range list {
		b.Put(leftover.Granted(r))
	}
	next := model.Clone(st)
	next.Leftovers = &model.Leftovers{Granted: granted, At: now}
	return b.Put(next)
}

// Returned marks what is left over on a node that comes back, in the entry that says so.
func Returned(v state.View, node string, b *state.Build) *state.Build {
	for _, r := range leftover.Returned(ReservationsOn(v, node)) {
		b.Put(r)
	}
	return b
}

// rested notes that leftovers of a node are gone: the rest before more go begins anew.
func rested(v state.View, node string, now time.Time, b *state.Build) {
	if st, ok := state.Get[*model.NodeStatus](v, node); ok && st.Leftovers != nil {
		LetGo(b, st, nil, st.Leftovers.Granted, now)
	}
}

// LVsOf names the LVs of reservations, as far as a sentence bears.
func LVsOf(list []*model.Reservation) string {
	const most = 10
	var out []string
	for _, r := range list[:min(most, len(list))] {
		out = append(out, r.VGName+"/"+r.LV)
	}
	text := strings.Join(out, ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
