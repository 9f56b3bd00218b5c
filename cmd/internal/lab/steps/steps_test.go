package steps_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/agent/decide"
	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// change is one plan carried out on one layout.
type change struct {
	name  string
	old   bool                                               // on DRBD 8.4
	first func(transition.Input) (transition.Outcome, error) // done before, and not looked at
	given layout.Layout                                      // as which the volume is formed
	class layout.Layout                                      // of its class while and after the change
	spare int                                                // nodes without a replica
	// grows: DRBD copies the new part, and calls the copies Inconsistent until it has, as
	// recorded (9.3.3/978, 8.4.11/265). While that lasts only the source can be used, and
	// nothing is taken away.
	grows bool
	start func(transition.Input) (transition.Outcome, error)
}

func class(ftt, gmdr int) layout.Layout { return layout.Formula(ftt, gmdr) }

// with is a layout with other numbers of replicas.
func with(l layout.Layout, diskful, tieBreakers int) layout.Layout {
	l.Diskful, l.TieBreakers = diskful, tieBreakers
	l.Quorum = diskful/2 + 1
	return l
}

func changes() []change {
	anywhere := model.ReplicaPlace{}
	return []change{
		{name: "add a copy to two with a tie-breaker", given: class(1, 0), class: class(1, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddDiskful(in, anywhere)
		}},
		{name: "add a copy to two that both must have all", given: class(0, 1), class: class(0, 1), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddDiskful(in, anywhere)
		}},
		{name: "add a copy to three", given: class(1, 1), class: class(1, 1), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddDiskful(in, anywhere)
		}},
		{name: "add a copy to a single one", given: class(0, 0), class: class(0, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddDiskful(in, anywhere)
		}},
		{name: "remove the third copy beside a tie-breaker", given: with(class(1, 0), 3, 1), class: class(1, 0), spare: 0, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.RemoveDiskful(in, 1)
		}},
		{name: "remove a fourth copy", given: with(class(1, 1), 4, 0), class: class(1, 1), spare: 0, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.RemoveDiskful(in, 3)
		}},
		{name: "replace one of two copies with a tie-breaker", given: class(1, 0), class: class(1, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.Replace(in, 1, anywhere, false)
		}},
		{name: "replace one of three copies", given: class(1, 1), class: class(1, 1), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.Replace(in, 2, anywhere, false)
		}},
		{name: "add a tie-breaker to two copies", given: with(class(0, 1), 2, 0), class: class(0, 1), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddTieBreaker(in, anywhere)
		}},
		{name: "remove the tie-breaker of three copies", given: with(class(1, 1), 3, 1), class: class(1, 1), spare: 0, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.RemoveTieBreaker(in, 3)
		}},
		{name: "add access to two copies with a tie-breaker", given: class(1, 0), class: class(1, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddAccess(in, "n3")
		}},
		{name: "remove access from three copies", given: class(1, 1), class: class(1, 1), spare: 1, first: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddAccess(in, "n3")
		}, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.RemoveAccess(in, 3)
		}},
		{name: "8.4: add a copy to a single one", old: true, given: class(0, 0), class: class(0, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.AddDiskful(in, anywhere)
		}},
		{name: "8.4: replace one of two copies", old: true, given: with(class(0, 1), 2, 0), class: class(0, 0), spare: 1, start: func(in transition.Input) (transition.Outcome, error) {
			return transition.Replace(in, 1, anywhere, true)
		}},
		{name: "grow two copies with a tie-breaker", given: class(1, 0), class: class(1, 0), grows: true, start: grow},
		{name: "grow three copies", given: class(1, 1), class: class(1, 1), grows: true, start: grow},
	}
}

// grow doubles the volume.
func grow(in transition.Input) (transition.Outcome, error) {
	return transition.StartResize(in, []model.VolumeDevice{{Size: 2 * size}}, func(usable int64, _ *model.Reservation) int64 {
		return drbd.BackingSize(usable, drbd.MaxPeers)
	})
}

// TestEveryStepOfEveryPlanKeepsThePromise stops each plan at each of its steps, and between
// any two members being told of it, and takes away whatever members the layout allows: with
// the power of as many as FTT gone the volume is used on a survivor, which has quorum and all
// that was acknowledged; with as many as GMDR gone all that was acknowledged is on what is
// left.
func TestEveryStepOfEveryPlanKeepsThePromise(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, version(c.old), c.given, c.spare)
				defer w.close()
				w.layout = c.class
				w.patient = c.grows
				if c.first != nil {
					w.carryOut(c.first, nil)
				}
				var checks count
				w.carryOut(c.start, &checks)
				t.Logf("%d stops, %d losses of nodes, %v", checks.stops, checks.losses, checks.steps)
			})
		})
	}
}

func version(old bool) drbd.Version {
	if old {
		return drbdtest.V84
	}
	return drbdtest.V9
}

// count is what was tried.
type count struct {
	stops, losses int
	steps         []string
}

// carryOut takes a change from step to step, and stops at each when it has somewhere to
// count that.
func (w *world) carryOut(start func(transition.Input) (transition.Outcome, error), n *count) {
	w.Helper()
	w.stop("before", n)
	out, err := start(w.input())
	w.ok(err)
	w.take(out)
	for range 200 {
		w.deliver(w.step(), n)
		if len(w.status.Transitions) == 0 {
			w.stop("after", n)
			return
		}
		w.until("the next step", func() string {
			out := transition.Next(w.input())
			if !out.Changed() {
				time.Sleep(5 * time.Second)
				return out.Wait
			}
			w.take(out)
			return ""
		})
	}
	w.Fatalf("no end:\n%s", w.says())
}

// step is the active one, in words.
func (w *world) step() string {
	if len(w.status.Transitions) == 0 {
		return "done"
	}
	t := w.status.Transitions[0]
	if i := t.Active(); i >= 0 {
		return t.Steps[i].Name
	}
	return "begin"
}

// deliver tells one node after the other what is new, and stops after each.
func (w *world) deliver(step string, n *count) {
	w.Helper()
	if n != nil && (len(n.steps) == 0 || n.steps[len(n.steps)-1] != step) {
		n.steps = append(n.steps, step)
	}
	for _, node := range w.nodes {
		if node.status == w.status {
			continue
		}
		changed := node.status == nil || node.status.Datamesh.Revision != w.status.Datamesh.Revision ||
			w.patient && node.step != step // growing is no revision of the mesh
		node.step = step
		w.tell(node)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if changed && w.on(node) != nil {
			w.stop(fmt.Sprintf("%s, %s told", step, node.Name), n)
		}
	}
}

// stop looks at the volume as it is, and takes away each set of members that it must bear.
func (w *world) stop(at string, n *count) {
	w.Helper()
	if n == nil {
		return
	}
	if w.patient {
		w.until(at, func() string { return w.unhealthy(drbd.UpToDate) })
	}
	n.stops++
	w.write(at)
	w.kept(at)
	members := w.sets(max(w.layout.FTT, w.layout.GMDR))
	for _, lost := range members {
		n.losses++
		w.lose(at, lost)
	}
}

// sets lists the sets of members of up to so many.
func (w *world) sets(most int) [][]*node {
	var members []*node
	for _, n := range w.nodes {
		if w.members()[n] != "" {
			members = append(members, n)
		}
	}
	sets := [][]*node{nil}
	for _, m := range members {
		for _, s := range slices.Clone(sets) {
			if len(s) < most {
				sets = append(sets, append(slices.Clone(s), m))
			}
		}
	}
	return sets[1:]
}

// lose takes the power of some, proves what the volume still does, and brings them back.
func (w *world) lose(at string, lost []*node) {
	w.Helper()
	var names []string
	for _, n := range lost {
		names = append(names, n.Name)
		n.kill()
	}
	what := fmt.Sprintf("%s, without %s", at, strings.Join(names, " and "))
	time.Sleep(20 * time.Second)
	if len(lost) <= w.layout.FTT {
		w.used(what)
	}
	if len(lost) <= w.layout.GMDR {
		w.kept(what)
	}
	for _, n := range lost {
		n.boot()
		w.tellAgain(n)
	}
	w.until(what+" and back", func() string { return w.unhealthy(drbd.UpToDate) })
	w.write(what + " and back")
}

// used proves that the volume can be used on some survivor.
func (w *world) used(what string) {
	w.Helper()
	var tried []string
	for _, n := range w.byUse() {
		if typ := w.members()[n]; typ != model.Diskful {
			continue
		}
		before := w.attached
		w.attached = n.Name
		for _, o := range w.nodes {
			if o.Name == before || o == n {
				w.tellAgain(o)
			}
		}
		why := w.patience(func() string {
			r, up := n.kernel()
			if !up || r.Role != drbd.Primary || !r.Devices[0].Quorum {
				return fmt.Sprintf("%s %s quorum %t", r.Role, w.state(n).Step, up && r.Devices[0].Quorum)
			}
			return ""
		})
		if why == "" {
			if why = w.lost(n.read(w)); why == "" {
				if err := w.try(n); err == nil {
					return
				} else {
					why = err.Error()
				}
			}
		}
		tried = append(tried, n.Name+": "+why)
	}
	w.Fatalf("%s: nobody can use the volume: %v\n%s", what, tried, w.says())
}

// byUse are the nodes, first the one that has the volume.
func (w *world) byUse() []*node {
	out := slices.Clone(w.nodes)
	slices.SortStableFunc(out, func(a, b *node) int {
		return b01(b.Name == w.attached) - b01(a.Name == w.attached)
	})
	return out
}

func b01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// kept proves that all that was acknowledged is on some disk that is left.
func (w *world) kept(what string) {
	w.Helper()
	var tried []string
	for n, typ := range w.members() {
		if typ != model.Diskful {
			continue
		}
		why := w.lost(n.raw(w))
		if why == "" {
			return
		}
		tried = append(tried, n.Name+": "+why)
	}
	w.Fatalf("%s: what was acknowledged is lost: %v\n%s", what, tried, w.says())
}

// read reads as a program does.
func (n *node) read(w *world) func([]byte, int64) error {
	return func(p []byte, off int64) error {
		got, err := n.DRBD.Read(w.Context(), minor, off, int64(len(p)))
		copy(p, got)
		return err
	}
}

// raw reads the disk under DRBD.
func (n *node) raw(w *world) func([]byte, int64) error {
	return func(p []byte, off int64) error {
		dev, err := n.LVM.Open("/dev/vg0/" + model.LVName("db", 0, w.on(n).ID))
		if err != nil {
			return err
		}
		defer func() { _ = dev.Close() }() // memory
		_, err = dev.ReadAt(p, off)
		return err
	}
}

// state is what the agent of a node says of its replica.
func (w *world) state(n *node) decide.ReplicaState {
	states, _ := n.engine.States()
	for _, s := range states {
		if r := w.on(n); r != nil && s.ReplicaUID == r.UID {
			return s
		}
	}
	return decide.ReplicaState{}
}
