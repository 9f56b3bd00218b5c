package leftover

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rvol/coordinator/model"
)

// Limits bound how many leftovers of a node are removed at a time.
type Limits struct {
	Count   int           // so many in a period
	Percent int           // or so many of a hundred reservations that the node has, where that is more
	Period  time.Duration // of rest before more go
}

// DefaultLimits leave an operator time to see that something is wrong.
func DefaultLimits() Limits { return Limits{Count: 5, Percent: 5, Period: time.Hour} }

// OrDefault fills in what is not said.
func (l Limits) OrDefault() Limits {
	usual := DefaultLimits()
	return Limits{Count: cmp.Or(l.Count, usual.Count), Percent: cmp.Or(l.Percent, usual.Percent), Period: cmp.Or(l.Period, usual.Period)}
}

// Sound says that the limits bound something.
func (l Limits) Sound() bool {
	return l.Count > 0 && l.Percent >= 0 && l.Percent <= 100 && l.Period > 0
}

// Most is how many leftovers of a node with so many reservations may go in one period.
func (l Limits) Most(reservations int) int { return max(l.Count, reservations*l.Percent/100) }

// Withheld says that the agent of a node is not to be told to remove a reservation yet. A node that
// is not Ready is told nothing new: the entry by which it is Ready again says what is left over.
func Withheld(r *model.Reservation, node *model.NodeStatus) bool {
	return r.OwnerKind == model.OwnerReplica && (r.Leftover == model.LeftoverWaiting || r.Leftover == "" && !node.Ready)
}

// Returned marks what is still to be removed of a node that comes back: it waits from now on.
func Returned(reservations []*model.Reservation) []*model.Reservation {
	var out []*model.Reservation
	for _, r := range reservations {
		if r.State == model.Releasing && r.OwnerKind == model.OwnerReplica && r.Leftover == "" {
			next := model.Clone(r)
			next.Leftover = model.LeftoverWaiting
			out = append(out, next)
		}
	}
	return out
}

// Granted lets one be removed.
func Granted(r *model.Reservation) *model.Reservation {
	next := model.Clone(r)
	next.Leftover, next.Kept = model.LeftoverGranted, false
	return next
}

// Input is one node and its leftovers.
type Input struct {
	Reservations []*model.Reservation // of replicas, on the node
	Newest       *model.Leftovers     // what the state remembers of grants; nil: there was none for a period
	Known        bool                 // its agent has reported fully
	Quiet        time.Duration        // since the newest grant or removal, as this leader counted while Known
}

// A Verdict is what is to be done now, and how it stands.
type Verdict struct {
	Grant  []*model.Reservation // as they are, in the order in which they go
	Newest *model.Leftovers     // what is to be remembered, but for its time
	Again  time.Duration        // look again after this long; 0: when something changes

	Waiting, Kept, Going int // before the grant
}

// Decide says which leftovers may go now. Of a period, everything counts that was granted since the
// rest before it, and what was granted earlier and is not gone: a grant may be used late.
func Decide(l Limits, in Input) Verdict {
	var waiting []*model.Reservation
	out := Verdict{Newest: in.Newest}
	for _, r := range in.Reservations {
		switch {
		case r.Leftover == model.LeftoverGranted:
			out.Going++
		case r.Leftover == model.LeftoverWaiting && r.Kept:
			out.Kept++
		case r.Leftover == model.LeftoverWaiting:
			waiting = append(waiting, r)
		}
	}
	out.Waiting = len(waiting)
	if !in.Known {
		return out
	}
	used := out.Going
	switch {
	case in.Newest == nil:
	case in.Quiet < l.Period:
		used, out.Again = max(used, in.Newest.Granted), l.Period-in.Quiet
	case out.Going == 0:
		out.Newest = nil
	}
	slices.SortFunc(waiting, func(a, b *model.Reservation) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Name, b.Name))
	})
	if room := min(max(0, l.Most(len(in.Reservations))-used), len(waiting)); room > 0 {
		out.Grant = waiting[:room]
		out.Newest = &model.Leftovers{Granted: used + room}
		out.Again = l.Period
	}
	return out
}

// Next says when more of what waits goes, for people. Who leads counts the time anew when it begins
// to lead, or the node comes back, so that it may take longer.
func (l Limits) Next(in Input) string {
	v := Decide(l, in)
	most := l.Most(len(in.Reservations))
	switch {
	case v.Waiting == 0:
		return ""
	case v.Going >= most:
		return fmt.Sprintf("%d are being removed, and more are let go when they are gone", v.Going)
	case in.Newest == nil:
		return fmt.Sprintf("the next %d go when its agent has reported", min(v.Waiting, most))
	}
	return fmt.Sprintf("the next %d go at %s at the earliest", min(v.Waiting, most-v.Going), in.Newest.At.Add(l.Period).UTC().Format(time.RFC3339))
}
