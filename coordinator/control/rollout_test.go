package control

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// withRevision lets an object take the place of the one that is there.
func withRevision[T model.Object](c *cluster, o T) T {
	old, _ := c.store.View().Object(o.Key())
	o.Info().Revision = old.Info().Revision
	return o
}

// changeClass alters a class as an operator would.
func (c *cluster) changeClass(name string, f func(*model.Class)) {
	c.t.Helper()
	old, ok := state.Get[*model.Class](c.store.View(), name)
	if !ok {
		c.t.Fatalf("no class %s", name)
	}
	cl := model.Clone(old)
	cl.Generation++
	f(cl)
	c.put(cl)
}

func classCondition(name, kind, reason, says string) func(state.View) bool {
	return func(v state.View) bool {
		cl, _ := state.Get[*model.Class](v, name)
		cs, ok := state.Get[*model.ClassStatus](v, name)
		if !ok || cl == nil {
			return false
		}
		c, _ := cs.Conditions.Get(kind)
		return c.Reason == reason && c.ObservedGeneration == cl.Generation && strings.Contains(c.Message, says)
	}
}

// formedVolumes makes a class of two copies, and so many formed volumes a, b, c ... in it.
func formedVolumes(c *cluster, class string, n int) []string {
	c.class(class, 0, 1)
	var names []string
	for i := range n {
		names = append(names, string(rune('a'+i)))
		c.volume(names[i], class, 1<<20)
	}
	for _, name := range names {
		c.within(5*time.Minute, name+" is formed", formed(name))
	}
	return names
}

func TestOptionsAreRenderedAnewSoManyAtATime(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 10000, func(c *cluster) {
		names := formedVolumes(c, "r2", 6)
		most := 2
		var widest atomic.Int64
		defer c.store.Watch(func(uint64, []model.Key) {
			n := int64(0)
			for vs := range state.All[*model.VolumeStatus](c.store.View()) {
				if vs.ConfiguringRevision != 0 {
					n++
				}
			}
			widest.Store(max(widest.Load(), n))
		})()
		c.changeClass("r2", func(cl *model.Class) { cl.RolloutMax, cl.DRBD = most, map[string]string{"ping-int": "5"} })
		c.within(time.Minute, "all run it", classCondition("r2", storageclass.ConfigurationRolledOut, "RolledOutToAllVolumes", ""))
		for _, name := range names {
			if vs := c.status(name); vs.Configuration.DRBD["ping-int"] != "5" || vs.ConfiguringRevision != 0 || vs.ConfigurationGeneration != 2 {
				t.Errorf("%s runs %+v of generation %d", name, vs.Configuration, vs.ConfigurationGeneration)
			}
		}
		if n := widest.Load(); n != int64(most) {
			t.Errorf("%d at a time, want %d", n, most)
		}
	})
}

func TestOneThatDoesNotConfirmKeepsItsSlotAndOthersGoOn(t *testing.T) {
	t.Parallel()
	bubble(t, 4, 10000, func(c *cluster) {
		names := formedVolumes(c, "r2", 2)
		n1 := &model.Node{Unschedulable: true}
		n1.Name = "n1"
		c.put(withRevision(c, n1))
		c.within(time.Minute, "n1 is cordoned", func(v state.View) bool {
			cs, _ := state.Get[*model.ClassStatus](v, "r2")
			ps, _ := state.Get[*model.PoolStatus](v, cs.PoolName)
			return ps.EligibleNodes[0].Unschedulable
		})
		for _, name := range []string{"y", "z"} {
			names = append(names, name)
			c.volume(name, "r2", 1<<20)
			c.within(time.Minute, name+" is formed", formed(name))
		}
		stuck := ""
		for r := range c.store.View().ReplicasOn("n1") {
			stuck = r.Volume
			break
		}
		c.change("n1", func(a *agent) { a.frozen = true })
		c.changeClass("r2", func(cl *model.Class) { cl.RolloutMax, cl.OnNoQuorum = 3, "io-error" })
		others := 0
		for _, name := range names {
			if _, there := c.store.View().ReplicaOn("n1", name); there {
				continue
			}
			others++
			c.within(time.Minute, name+" runs it", func(state.View) bool {
				vs := c.status(name)
				return vs.ConfigurationGeneration == 2 && vs.ConfiguringRevision == 0
			})
		}
		if others == 0 || stuck == "" {
			t.Fatalf("%d volumes have nothing on n1, one that has is %q: want some of each", others, stuck)
		}
		c.within(time.Minute, stuck+" waits for n1", func(state.View) bool {
			vs := c.status(stuck)
			return vs.ConfigurationGeneration == 2 && vs.ConfiguringRevision != 0
		})
		c.within(time.Minute, "the class says who runs", classCondition("r2", storageclass.ConfigurationRolledOut, "ConfigurationRolloutInProgress", "running "))
		c.change("n1", func(a *agent) { a.frozen = false })
		c.within(time.Minute, "all run it", classCondition("r2", storageclass.ConfigurationRolledOut, "RolledOutToAllVolumes", ""))
	})
}

func TestNewVolumesOnlyLeavesOldOnesUntilItIsLifted(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 10000, func(c *cluster) {
		formedVolumes(c, "r2", 2)
		c.changeClass("r2", func(cl *model.Class) {
			cl.Rollout, cl.Wipe = model.RolloutNewVolumesOnly, "zero"
		})
		c.within(time.Minute, "what changes nothing for a volume is taken at once", classCondition("r2", storageclass.ConfigurationRolledOut, "RolledOutToAllVolumes", ""))
		c.changeClass("r2", func(cl *model.Class) { cl.OnNoQuorum = "io-error" })
		c.within(time.Minute, "the class says they stay", classCondition("r2", storageclass.ConfigurationRolledOut, "ConfigurationRolloutDisabled", "2 of 2 volumes"))
		c.volume("new", "r2", 1<<20)
		c.within(time.Minute, "a new one is formed", formed("new"))
		c.within(time.Minute, "only the old ones are behind", classCondition("r2", storageclass.ConfigurationRolledOut, "ConfigurationRolloutDisabled", "2 of 3 volumes"))
		for name, want := range map[string]string{"a": "suspend-io", "new": "io-error"} {
			if got := c.status(name).Configuration.OnNoQuorum; got != want && (got != "" || want != "suspend-io") {
				t.Errorf("%s runs %q, want %q", name, got, want)
			}
		}
		ready, _ := c.status("a").Conditions.Get(storageclass.ConfigurationReady)
		if ready.Reason != "StaleConfiguration" || !strings.Contains(ready.Message, "NewVolumesOnly: it keeps what it runs") {
			t.Errorf("it says %s: %s", ready.Reason, ready.Message)
		}
		c.changeClass("r2", func(cl *model.Class) { cl.Rollout = model.RolloutRollingUpdate })
		c.within(time.Minute, "now they follow", classCondition("r2", storageclass.ConfigurationRolledOut, "RolledOutToAllVolumes", ""))
	})
}

func TestALayoutIsChangedByTransitionsSoManyAtATime(t *testing.T) {
	t.Parallel()
	bubble(t, 3, 10000, func(c *cluster) {
		names := formedVolumes(c, "r2", 3)
		c.change("n1", func(a *agent) { a.frozen = true }) // who stays does not confirm
		c.changeClass("r2", func(cl *model.Class) { cl.FTT, cl.GMDR, cl.RolloutMax = 0, 0, 2 })
		c.within(time.Minute, "two are changed, one waits", classCondition("r2", storageclass.ConfigurationRolledOut, "ConfigurationRolloutInProgress",
			"; 1 waiting"))
		running := 0
		for _, name := range names { // which of them is first depends on who saw the class first
			if len(c.status(name).Transitions) == 0 {
				continue
			}
			running++
			c.within(time.Minute, name+" says so", func(state.View) bool {
				ready, _ := c.status(name).Conditions.Get(storageclass.ConfigurationReady)
				return strings.Contains(ready.Message, "change "+name+" from 2D to 1D")
			})
		}
		if running != 2 {
			t.Errorf("%d are changed at a time, want 2", running)
		}
		c.change("n1", func(a *agent) { a.frozen = false })
		c.within(time.Minute, "all have it", classCondition("r2", storageclass.ConfigurationRolledOut, "RolledOutToAllVolumes", ""))
		for _, name := range names {
			if vs := c.status(name); len(vs.Datamesh.Members) != 1 || vs.ConfigurationGeneration != 2 || vs.Sole != nil {
				t.Errorf("%s: members %+v, generation %d, sole %v", name, vs.Datamesh.Members, vs.ConfigurationGeneration, vs.Sole)
			}
		}
	})
}

// Whatever else changes meanwhile, a grace ends when it ends.
func TestGraceEndsWhenItEnds(t *testing.T) {
	t.Parallel()
	bubble(t, 3, 1000, func(c *cluster) {
		c.class("r2", 0, 1)
		pool := ""
		eligible := func(n int) func(state.View) bool {
			return func(v state.View) bool {
				cs, ok := state.Get[*model.ClassStatus](v, "r2")
				if !ok {
					return false
				}
				pool = cs.PoolName
				ps, ok := state.Get[*model.PoolStatus](v, pool)
				return ok && len(ps.EligibleNodes) == n
			}
		}
		c.within(time.Minute, "three nodes", eligible(3))
		c.change("n3", func(a *agent) { a.frozen = true })
		c.within(time.Minute, "n3 is NotReady", func(v state.View) bool {
			st, _ := state.Get[*model.NodeStatus](v, "n3")
			return !st.Ready
		})
		begun := time.Now()
		for i := range 5 {
			time.Sleep(time.Minute)
			old, _ := state.Get[*model.Node](c.store.View(), "n1")
			n := model.Clone(old)
			n.Zone = fmt.Sprint("z", i)
			c.put(n)
		}
		c.within(10*time.Minute, "n3 is not eligible", eligible(2))
		if d := time.Since(begun); (d - 10*time.Minute).Abs() > time.Second { // it began before it was seen
			t.Errorf("the grace lasted %v", d)
		}
		ps, _ := state.Get[*model.PoolStatus](c.store.View(), pool)
		before := ps.EligibleNodesRevision
		time.Sleep(time.Minute)
		if ps, _ = state.Get[*model.PoolStatus](c.store.View(), pool); ps.EligibleNodesRevision != before {
			t.Errorf("nothing changed, and the revision went from %d to %d", before, ps.EligibleNodesRevision)
		}
	})
}
