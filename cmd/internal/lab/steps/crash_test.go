package steps_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// crash ends the agent of a node, or takes the node's power, at the n-th point that it passes.
type crash struct {
	mu     sync.Mutex
	armed  bool
	at     int // counted from 1; 0: nowhere
	power  bool
	points []string // that were passed since it was armed
}

var errCrash = errors.New("the agent is killed here")

func (c *crash) hook(point string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.armed {
		return nil
	}
	if c.points = append(c.points, point); len(c.points) == c.at {
		return errCrash
	}
	return nil
}

func (c *crash) arm(at int, power bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.at, c.power = true, at, power
}

func (c *crash) passed() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.points)
}

// revive starts agents that were killed; coordinators tell them again what they told them last.
func (w *world) revive() {
	w.Helper()
	for _, n := range w.nodes {
		select {
		case <-n.ended:
		default:
			continue
		}
		if !n.on || len(n.crash.passed()) < n.crash.at || n.crash.at == 0 {
			continue // off, or at rest because the test wants it so
		}
		n.stop()
		if n.crash.power {
			w.ok(n.PowerOff())
			n.PowerOn()
		}
		n.start()
		w.tellAgain(n)
		synctest.Wait()
	}
}

// work is a change during which agents are killed.
type work struct {
	change
	away    string   // node whose power is gone from before it on, and that nobody has fenced
	victims []string // nodes
}

func works() []work {
	named := func(name string) change {
		all := changes()
		return all[slices.IndexFunc(all, func(c change) bool { return c.name == name })]
	}
	lost := change{name: "replace a lost copy of three", given: class(1, 1), class: class(1, 1), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
		return transition.Repair(in, 2)
	}}
	tie := change{name: "replace a lost tie-breaker", given: class(1, 0), class: class(1, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
		return transition.Repair(in, 2)
	}}
	return []work{
		{change: named("replace one of three copies"), victims: []string{"n0", "n2", "n3"}},
		{change: lost, away: "n2", victims: []string{"n0", "n3"}},
		{change: tie, away: "n2", victims: []string{"n0", "n3"}},
		{change: named("put one of three copies on another volume group"), victims: []string{"n0", "n1"}},
		{change: named("8.4: replace one of two copies"), victims: []string{"n0", "n1", "n2"}},
	}
}

// TestAReplacementSurvivesACrashAtAnyPoint kills the agent of each node that takes part in a
// replacement after each of its steps and each line of its journal, or takes the node's power
// there. RVOL_SWEEP=whole takes every point both ways, else some are taken one way.
func TestAReplacementSurvivesACrashAtAnyPoint(t *testing.T) {
	t.Parallel()
	stride, whole := 9, os.Getenv("RVOL_SWEEP") == "whole"
	if whole {
		stride = 1
	}
	for i, c := range works() {
		for k, victim := range c.victims {
			t.Run(c.name+", "+victim, func(t *testing.T) {
				t.Parallel()
				points := c.run(t, victim, 0, false)
				if points < 5 {
					t.Fatalf("only %d points were passed", points)
				}
				for at := 1 + (i+k)%stride; at <= points && !t.Failed(); at += stride {
					power := (at+i+k)%2 == 0
					c.run(t, victim, at, power)
					if whole {
						c.run(t, victim, at, !power)
					}
				}
				t.Logf("%d points", points)
			})
		}
	}
}

// run carries the work out with one crash, and returns how many points the victim passed.
func (c work) run(t *testing.T, victim string, at int, power bool) (points int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, version(c.old), c.given, c.spare)
		defer w.close()
		w.layout = c.class
		w.status.Configuration.DRBD = nil // no disk need be slow
		w.write("before")
		if c.change.away {
			w.reserve("res-vg1", w.replicas[1], "vg1")
		}
		if c.away != "" {
			w.node(c.away).kill()
			time.Sleep(20 * time.Second)
			w.write("without " + c.away)
		}
		n := w.node(victim)
		n.crash.arm(at, power)
		w.carryOut(c.start, nil)
		where := "nowhere"
		if passed := n.crash.passed(); at > 0 && len(passed) >= at {
			where = fmt.Sprintf("point %d: %s, power %t", at, passed[at-1], power)
		}
		w.until("well after a crash at "+where, func() string { return w.unhealthy(drbd.UpToDate) })
		w.write("after a crash at " + where)
		w.same(where)
		points = len(n.crash.passed())
	})
	return points
}

// same proves that all copies have what was acknowledged, that what was to go is gone, and
// that nobody began a data generation anew.
func (w *world) same(where string) {
	w.Helper()
	for n, typ := range w.members() {
		if why := w.lost(n.raw(w)); typ == model.Diskful && why != "" {
			w.Errorf("after a crash at %s: %s: %s", where, n.Name, why)
		}
	}
	for _, n := range w.nodes[1:] {
		for _, line := range n.DRBD.Ran() {
			if strings.Contains(line, "new-current-uuid") {
				w.Errorf("after a crash at %s: %s ran %s", where, n.Name, line)
			}
		}
	}
	for _, res := range w.reservations {
		if n := w.node(res.Pool.Node); res.State == model.Releasing && n.on {
			w.until("released", func() string {
				if _, released := n.engine.States(); !slices.Contains(released, res.Name) {
					return fmt.Sprintf("after a crash at %s: %s holds what it was to release", where, n.Name)
				}
				return ""
			})
		}
	}
}
