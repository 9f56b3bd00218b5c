package control

import (
	"testing"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

func TestWhatWaitsIsWoken(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		make func(l *ledgerWorld) // why there is no place
		wake func(l *ledgerWorld)
	}{
		{
			"space released", func(l *ledgerWorld) { _ = l.reserve(model.OwnerHold, "h", claim("n0", 999)) },
			func(l *ledgerWorld) {
				h, _ := state.Get[*model.Reservation](l.store.View(), Owner{model.OwnerHold, "h"}.Reservation(0, 0))
				l.propose(state.NewTxn("test", "release").Delete(h))
			},
		},
		{"capacity grown", func(l *ledgerWorld) { l.put(capacityOf(0, 10)) }, func(l *ledgerWorld) { l.put(capacityOf(0, 1000)) }},
		{
			"settings changed", func(l *ledgerWorld) { l.put(percent(10, 100)) }, func(l *ledgerWorld) { l.put(percent(10, 10_000)) },
		},
		{"growth allowed again", func(l *ledgerWorld) { l.put(stopped("data 96 %")) }, func(l *ledgerWorld) { l.put(stopped("")) }},
		{"a node added", eligible(false, true), eligible(true, true)},
		{"a node Ready again", eligible(true, false), eligible(true, true)},
		{"an LVG added", lvgs(), lvgs(model.EligibleLVG{VG: "vg0", Pool: poolID(0), Ready: true})},
		{
			"an LVG uncordoned", lvgs(model.EligibleLVG{VG: "vg0", Pool: poolID(0), Ready: true, Unschedulable: true}),
			lvgs(model.EligibleLVG{VG: "vg0", Pool: poolID(0), Ready: true}),
		},
		{"a storage pool added", dropPool, eligible(true, true)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, pools(1000), func(l *ledgerWorld) {
				tc.make(l)
				l.volume("v", gib, 1)
				settle(time.Minute)
				if got := l.placed(); len(got) != 0 {
					t.Fatalf("placed at once: this test shows nothing")
				}
				tc.wake(l)
				settle(time.Second)
				if got := l.placed(); len(got) != 1 {
					c, _ := scheduled(l.store.View(), "v")
					t.Errorf("still waits: %+v", c)
				}
			})
		})
	}
}

func percent(extents int64, p int) *model.Capacity {
	c := capacityOf(0, extents)
	c.Percent, c.ThinPoolName = p, "tp"
	return c
}

func stopped(why string) *model.Capacity {
	c := capacityOf(0, 1000)
	c.GrowthStopped = why
	return c
}

// eligible says which nodes the storage pool has: none, or n0.
func eligible(there, ready bool) func(*ledgerWorld) {
	var nodes []model.EligibleNode
	if there {
		nodes = []model.EligibleNode{{
			Node: "n0", NodeReady: ready, AgentReady: ready, DRBD: "9", LVGs: []model.EligibleLVG{{VG: "vg0", Pool: poolID(0), Ready: true}},
		}}
	}
	return eligibleNodes(nodes...)
}

// lvgs says which LVGs n0 has.
func lvgs(there ...model.EligibleLVG) func(*ledgerWorld) {
	return eligibleNodes(model.EligibleNode{Node: "n0", NodeReady: true, AgentReady: true, DRBD: "9", LVGs: there})
}

func eligibleNodes(nodes ...model.EligibleNode) func(*ledgerWorld) {
	return func(l *ledgerWorld) {
		ps := &model.PoolStatus{EligibleNodes: nodes}
		ps.Name = "p"
		l.put(ps)
	}
}

func dropPool(l *ledgerWorld) {
	ps, _ := state.Get[*model.PoolStatus](l.store.View(), "p")
	l.propose(state.NewTxn("test", "no pool").Delete(ps))
}
