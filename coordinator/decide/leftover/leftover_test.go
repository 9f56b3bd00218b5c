package leftover_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/leftover"
	"rvol/coordinator/model"
)

// copies are so many reservations of each kind on one node, named w0, w1, ..., k0, g0 and b0.
func copies(waiting, kept, going, bound int) []*model.Reservation {
	var out []*model.Reservation
	add := func(n int, name string, r model.Reservation) {
		for i := range n {
			one := model.Clone(&r)
			one.Name = fmt.Sprintf("%s%d", name, i)
			one.OwnerKind, one.Owner = model.OwnerReplica, fmt.Sprintf("db-%02d/0", i)
			out = append(out, one)
		}
	}
	add(waiting, "w", model.Reservation{State: model.Releasing, Leftover: model.LeftoverWaiting})
	add(kept, "k", model.Reservation{State: model.Releasing, Leftover: model.LeftoverWaiting, Kept: true})
	add(going, "g", model.Reservation{State: model.Releasing, Leftover: model.LeftoverGranted})
	add(bound, "b", model.Reservation{State: model.Bound})
	return out
}

func TestHowManyLeftoversGoNow(t *testing.T) {
	t.Parallel()
	limits := leftover.Limits{Count: 3, Percent: 5, Period: time.Hour}
	before := func(n int) *model.Leftovers { return &model.Leftovers{Granted: n} }
	tests := []struct {
		name    string
		have    []*model.Reservation
		newest  *model.Leftovers
		quiet   time.Duration
		unknown bool
		grant   []string
		used    int // -1: nothing is remembered
		again   time.Duration
	}{
		{name: "nothing is left over", have: copies(0, 0, 0, 9), used: -1},
		{name: "few go at once", have: copies(2, 0, 0, 0), grant: []string{"w0", "w1"}, used: 2, again: time.Hour},
		{name: "of many so many as the limit says", have: copies(9, 0, 0, 0), grant: []string{"w0", "w1", "w2"}, used: 3, again: time.Hour},
		{name: "of a large node so many of a hundred", have: copies(9, 0, 0, 71), grant: []string{"w0", "w1", "w2", "w3"}, used: 4, again: time.Hour},
		{name: "nothing while its agent has not reported", have: copies(9, 0, 0, 0), unknown: true, used: -1},
		{name: "nothing more in the same period", have: copies(9, 0, 0, 0), newest: before(3), quiet: 20 * time.Minute, used: 3, again: 40 * time.Minute},
		{name: "what the period has left", have: copies(9, 0, 0, 0), newest: before(2), quiet: time.Minute, grant: []string{"w0"}, used: 3, again: time.Hour},
		{name: "more after the rest", have: copies(9, 0, 0, 0), newest: before(3), quiet: time.Hour, grant: []string{"w0", "w1", "w2"}, used: 3, again: time.Hour},
		{name: "what was granted and is not gone counts after the rest too", have: copies(9, 0, 2, 0), newest: before(3), quiet: time.Hour, grant: []string{"w0"}, used: 3, again: time.Hour},
		{name: "nothing while as many as the limit are not gone", have: copies(9, 0, 3, 0), newest: before(3), quiet: 9 * time.Hour, used: 3},
		{name: "what is kept does not go", have: copies(0, 4, 0, 0), used: -1},
		{name: "what an operator let go counts", have: copies(2, 0, 0, 0), newest: before(40), quiet: time.Minute, used: 40, again: 59 * time.Minute},
		{name: "the rest is over and nothing waits", have: copies(0, 1, 0, 5), newest: before(3), quiet: time.Hour, used: -1},
		{name: "it is not over while something is going", have: copies(0, 0, 1, 5), newest: before(3), quiet: time.Hour, used: 3},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := leftover.Decide(limits, leftover.Input{Reservations: tc.have, Newest: tc.newest, Known: !tc.unknown, Quiet: tc.quiet})
			var grant []string
			for _, r := range got.Grant {
				grant = append(grant, r.Name)
			}
			used := -1
			if got.Newest != nil {
				used = got.Newest.Granted
			}
			if diff := cmp.Diff(tc.grant, grant); diff != "" || used != tc.used || got.Again != tc.again {
				t.Errorf("granted %v, remembers %d, again after %s; want %v, %d, %s", grant, used, got.Again, tc.grant, tc.used, tc.again)
			}
		})
	}
}

func TestWhatANodeIsNotToldToRemove(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		r        model.Reservation
		ready    bool
		withheld bool
	}{
		{"deleted while the node is Ready", model.Reservation{OwnerKind: model.OwnerReplica}, true, false},
		{"deleted while it is not", model.Reservation{OwnerKind: model.OwnerReplica}, false, true},
		{"waits for its turn", model.Reservation{OwnerKind: model.OwnerReplica, Leftover: model.LeftoverWaiting}, true, true},
		{"may go", model.Reservation{OwnerKind: model.OwnerReplica, Leftover: model.LeftoverGranted}, true, false},
		{"may go, and the node went away again", model.Reservation{OwnerKind: model.OwnerReplica, Leftover: model.LeftoverGranted}, false, false},
		{"an orphan that an operator gave up by name", model.Reservation{OwnerKind: model.OwnerOrphan}, false, false},
	}
	for _, tc := range tests {
		if got := leftover.Withheld(&tc.r, &model.NodeStatus{Ready: tc.ready}); got != tc.withheld {
			t.Errorf("%s: withheld %v, want %v", tc.name, got, tc.withheld)
		}
	}
}

func TestWhenMoreGoesIsSaid(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	limits := leftover.DefaultLimits()
	tests := []struct {
		name   string
		have   []*model.Reservation
		newest *model.Leftovers
		want   string
	}{
		{"nothing waits", copies(0, 1, 2, 3), nil, ""},
		{"the node has not reported", copies(7, 0, 0, 0), nil, "the next 5 go when its agent has reported"},
		{"in the next period", copies(7, 0, 0, 0), &model.Leftovers{Granted: 5, At: at}, "the next 5 go at 2026-11-21T11:00:00Z at the earliest"},
		{"fewer, because some do not get on", copies(7, 0, 2, 0), &model.Leftovers{Granted: 5, At: at}, "the next 3 go at 2026-11-21T11:00:00Z at the earliest"},
		{"none, because none gets on", copies(7, 0, 5, 0), &model.Leftovers{Granted: 5, At: at}, "5 are being removed, and more are let go when they are gone"},
	}
	for _, tc := range tests {
		if got := limits.Next(leftover.Input{Reservations: tc.have, Newest: tc.newest}); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
