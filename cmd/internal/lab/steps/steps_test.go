package steps_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/agent/decide"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// TestEveryStepOfEveryPlanKeepsThePromise stops each plan at each of its steps, and between
// any two members being told of it, and takes away whatever members the layout allows: with
// the power of as many as FTT gone the volume is used on a survivor, which has quorum and all
// that was acknowledged; with as many as GMDR gone all that was acknowledged is on what is
// left.
func TestEveryStepOfEveryPlanKeepsThePromise(t *testing.T) {
	t.Parallel()
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, version(c.old), c.given, c.spare)
				defer w.close()
				w.layout, w.ftt, w.gmdr = c.class, c.class.FTT, c.class.GMDR
				if c.to != nil { // the weaker of the old and the new
					w.ftt, w.gmdr = min(w.ftt, c.to.FTT), min(w.gmdr, c.to.GMDR)
					c.start = c.change
				}
				w.patient = c.grows
				if c.lost != "" { // from here on it bears one less
					w.forever(w.node(c.lost))
					w.ftt--
				}
				if c.away {
					w.reserve("res-vg1", w.replicas[1], "vg1")
				}
				if c.first != nil {
					w.carryOut(c.first, nil)
				}
				w.less = c.less
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
	w.ftt -= w.less
	out, err := start(w.input())
	w.ok(err)
	w.take(out)
	for range 200 {
		w.deliver(w.step(), n)
		if len(w.status.Transitions) == 0 {
			w.ftt += w.less
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
	members := w.sets(max(w.ftt, w.gmdr))
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
	if len(lost) <= w.ftt {
		w.used(what)
	}
	if len(lost) <= w.gmdr {
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

// forever takes the power of a node, and says so.
func (w *world) forever(n *node) {
	n.kill()
	n.fenced = true
	time.Sleep(20 * time.Second)
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
		dev, err := n.LVM.Open("/dev/" + w.on(n).VG + "/" + model.LVName("db", 0, w.on(n).ID))
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
