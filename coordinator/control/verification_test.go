package control

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"rvol/coordinator/decide/verification"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// A tally counts by name, for several goroutines.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (t *tally) add(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[name]++
}

func (t *tally) of(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n[name]
}

// verifies lets the agents compare: each takes 10 s, and is counted by volume. It fails when a
// node compares more than one volume at a time.
func (c *cluster) verifies(ran *tally) {
	since := map[string]time.Time{} // of operations, by uid
	for c.ctx.Err() == nil {
		v, at := c.store.View(), map[string]int{}
		for op := range state.All[*model.Operation](v) {
			if op.Type != model.OperationVerify || op.Over() {
				continue
			}
			if _, begun := since[op.UID]; !begun {
				since[op.UID] = time.Now()
				ran.add(op.Volume)
			}
			for r := range state.Under[*model.Replica](v, op.Volume+"/") {
				if at[r.Node]++; at[r.Node] > verification.MaxPerNode {
					c.t.Errorf("node %s compares %d volumes at a time", r.Node, at[r.Node])
				}
			}
			if time.Since(since[op.UID]) >= 10*time.Second {
				done := model.Clone(op)
				done.Phase = model.OperationSucceeded
				txn, _ := state.NewTxn("agent/"+op.Node, "done "+op.Name).Put(done).Txn()
				_, _ = c.Propose(c.ctx, txn) // a lost race is tried again
			}
		}
		select {
		case <-c.ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func TestCopiesAreComparedAsOftenAsTheClassWants(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 10000, func(c *cluster) {
		c.class("r2", 1, 0)
		ran, names := &tally{n: map[string]int{}}, []string{}
		for i := range 3 {
			names = append(names, fmt.Sprintf("db-%d", i))
			vol := &model.Volume{Class: "r2", Devices: []model.VolumeDevice{{Size: gib}}, MaxAttachments: 1}
			vol.Name, vol.UID, vol.CreatedAt = names[i], "uid-"+names[i], time.Now()
			c.put(vol)
		}
		for _, n := range names {
			c.within(time.Minute, n+" is formed", formed(n))
		}
		go c.verifies(ran)
		class, _ := state.Get[*model.Class](c.store.View(), "r2")
		class = model.Clone(class)
		class.VerifyEvery = 2 * time.Minute
		c.put(class)

		time.Sleep(90 * time.Second)
		for _, n := range names {
			if ran.of(n) > 0 {
				t.Errorf("%s was compared too early", n)
			}
		}
		before := c.store.View().Index()
		for _, n := range names {
			c.within(2*time.Minute, n+" was compared", func(v state.View) bool {
				vs, _ := state.Get[*model.VolumeStatus](v, n)
				return vs.Conditions.Is("Verified", model.True)
			})
		}
		// For each: it begins, is granted, has a result, which is noted, and it ends.
		if wrote := int(c.store.View().Index() - before); wrote > 5*len(names) {
			t.Errorf("%d comparisons wrote %d entries", len(names), wrote)
		}
		c.elect() // a new leader knows when that was
		time.Sleep(45 * time.Second)
		for _, n := range names {
			if times := ran.of(n); times != 1 {
				t.Errorf("%s was compared %d times so far, want once", n, times)
			}
		}
		time.Sleep(2 * time.Minute)
		for _, n := range names {
			if times := ran.of(n); times != 2 {
				t.Errorf("%s was compared %d times by now, want twice", n, times)
			}
		}
	})
}
