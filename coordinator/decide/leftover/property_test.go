package leftover_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rvol/coordinator/decide/leftover"
	"rvol/coordinator/model"
)

// TestNoPeriodRemovesMoreThanItsLimit plays a node that comes and goes, leaders that change, volumes
// that are deleted at any moment, and an agent that removes what it was told whenever it likes, also
// while nobody hears it.
func TestNoPeriodRemovesMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := &node{t: t, limits: leftover.Limits{Count: rapid.IntRange(1, 4).Draw(t, "limit"), Percent: rapid.IntRange(0, 30).Draw(t, "percent"), Period: time.Hour}}
		n.status.Ready, n.reservations, n.told = true, map[string]*model.Reservation{}, map[string]model.LeftoverState{}
		t.Repeat(map[string]func(*rapid.T){
			"make":   func(t *rapid.T) { n.make(rapid.IntRange(1, 20).Draw(t, "n")) },
			"delete": func(t *rapid.T) { n.delete(rapid.IntRange(1, 20).Draw(t, "n")) },
			"lose":   func(*rapid.T) { n.lose() },
			"hear":   func(*rapid.T) { n.hear() },
			"elect":  func(*rapid.T) { n.since = n.now },
			"wait":   func(t *rapid.T) { n.now += time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute },
			"remove": func(t *rapid.T) { n.remove(rapid.IntRange(1, 20).Draw(t, "n")) },
			"":       n.check,
		})
	})
}

// node is one with its agent, and what the coordinators have of it.
type node struct {
	t      *rapid.T
	limits leftover.Limits
	now    time.Duration
	most   int // the highest limit there was
	made   int

	status       model.NodeStatus
	reservations map[string]*model.Reservation
	since        time.Duration // this leader hears the node, in the same period

	told    map[string]model.LeftoverState // what the agent is to remove, and what it was then
	removed []string                       // not proven yet
	gone    []time.Duration                // when leftovers were removed
}

func (n *node) make(count int) {
	for range count {
		r := &model.Reservation{OwnerKind: model.OwnerReplica, State: model.Bound}
		r.Name = fmt.Sprintf("r%d", n.made)
		n.made++
		n.reservations[r.Name] = r
	}
}

func (n *node) delete(count int) {
	for _, name := range slices.Sorted(maps.Keys(n.reservations)) {
		if r := n.reservations[name]; r.State == model.Bound && count > 0 {
			r.State = model.Releasing
			count--
		}
	}
	n.settle()
}

func (n *node) lose() { n.status.Ready = false }

// hear is the entry that says the node is Ready again, where it was not.
func (n *node) hear() {
	if n.status.Ready {
		return
	}
	for _, r := range leftover.Returned(slices.Collect(maps.Values(n.reservations))) {
		n.reservations[r.Name] = r
	}
	n.status.Ready, n.since = true, n.now
	n.settle()
}

// settle takes proofs, grants, and tells the agent, while it is heard.
func (n *node) settle() {
	if !n.status.Ready {
		return
	}
	for _, name := range n.removed {
		if r := n.reservations[name]; r != nil && r.Leftover != "" && n.status.Leftovers != nil {
			n.status.Leftovers.At, n.since = time.Time{}.Add(n.now), n.now
		}
		delete(n.reservations, name)
	}
	n.removed = nil
	in := leftover.Input{Reservations: slices.Collect(maps.Values(n.reservations)), Newest: n.status.Leftovers, Known: true, Quiet: n.now - n.since}
	got := leftover.Decide(n.limits, in)
	n.most = max(n.most, n.limits.Most(len(in.Reservations)))
	n.status.Leftovers = got.Newest
	if len(got.Grant) > 0 {
		n.since = n.now
	}
	for _, r := range got.Grant {
		n.reservations[r.Name] = leftover.Granted(r)
	}
	clear(n.told)
	for name, r := range n.reservations {
		if r.State == model.Releasing && !leftover.Withheld(r, &n.status) {
			n.told[name] = r.Leftover
		}
	}
}

func (n *node) remove(count int) {
	for _, name := range slices.Sorted(maps.Keys(n.told)) {
		if count--; count < 0 {
			break
		}
		if n.told[name] != "" {
			n.gone = append(n.gone, n.now)
		}
		delete(n.told, name)
		n.removed = append(n.removed, name)
	}
	n.settle()
}

// check counts what was removed in the period that begins with each removal, and says that nothing
// was told that nobody deleted.
func (n *node) check(t *rapid.T) {
	n.settle()
	for i, from := range n.gone {
		count := 0
		for _, at := range n.gone[i:] {
			if at-from < n.limits.Period {
				count++
			}
		}
		if count > n.most {
			t.Fatalf("%d leftovers were removed within %s of %s, the limit is %d", count, n.limits.Period, from, n.most)
		}
	}
	for name := range n.told {
		if n.reservations[name].State != model.Releasing {
			t.Fatalf("%s is to be removed, and nobody deleted it", name)
		}
	}
}
