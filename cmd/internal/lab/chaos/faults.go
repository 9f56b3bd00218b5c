package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"rvol/cmd/internal/lab/sim"
	"rvol/drbd/drbdtest"
)

// kind is one kind of fault.
type kind struct {
	name string
	// begin lets it happen. It returns what it struck, "" when it cannot happen now, and how
	// to end it; end reports whether anybody met it.
	begin func(r *run, rnd *rand.Rand) (what string, end func() (met bool, err error))
}

// active is a fault that lasts.
type active struct {
	kind kind
	what string
	till time.Time
	end  func() (bool, error)
}

// Kinds that do not go together on a node.
const (
	hungLVM   = "tools of LVM hang"
	fullGroup = "volume group full"
	nearPool  = "thin pool nearly full"
	fullPool  = "thin pool full"
	fullDisk  = "disk of a coordinator full"

	clockForward = "clock jumps forward"
	clockBack    = "clock jumps back"
)

var kinds = slices.Concat([]kind{
	{"power of a node", powerOf(func(i int) bool { return i >= coordinators })},
	{"power of a coordinator's node", powerOf(func(i int) bool { return i < coordinators })},
	{"coordinator stopped", stopCoordinator},
	{"coordinator killed, what it had not synced is lost", killCoordinator},
	{"agent stopped", stopAgent},
	{"agent killed between two steps", killAgent},
	{"node cut off from all", isolate},
	{"connections reset", reset},
	{"event stream of DRBD ends", endStreams},
	{toolSlow, spoilTools(toolSlow)},
	{toolFails, spoilTools(toolFails)},
	{toolLost, spoilTools(toolLost)},
	{toolGarble, spoilTools(toolGarble)},
	{hungLVM, hangLVM},
	{"tools of DRBD hang", hangDRBD},
	{fullGroup, fillGroup},
	{nearPool, fillPool(97)},
	{fullPool, fillPool(100)},
	{fullDisk, fillCoordinator},
	{clockForward, jump(1)},
	{clockBack, jump(-1)},
}, links())

// spoil lets one more thing go wrong.
func (r *run) spoil() {
	k := r.kinds.deal(r.rnd)
	what, end := k.begin(r, r.rnd)
	if what == "" {
		r.kinds.left = append(r.kinds.left, k) // later
		return
	}
	r.say("FAULT %s: %s", k.name, what)
	r.faults = append(r.faults, &active{k, what, time.Now().Add(2*time.Second + time.Duration(r.rnd.Int64N(int64(40*time.Second)))), end})
}

// mendSome ends faults whose time is over.
func (r *run) mendSome() {
	r.faults = slices.DeleteFunc(r.faults, func(a *active) bool {
		if time.Now().Before(a.till) {
			return false
		}
		r.mend(a)
		return true
	})
}

func (r *run) mend(a *active) {
	met, err := a.end()
	r.say("ENDS  %s: %s", a.kind.name, a.what)
	if err != nil {
		r.wrongf("end the fault %s, %s: %v", a.kind.name, a.what, err)
	}
	if met {
		r.counts.add(faultGroup, a.kind.name, 1)
		return
	}
	r.kinds.left = append([]kind{a.kind}, r.kinds.left...) // once more, until somebody meets it
}

// running picks a node with power that is like that, or nil.
func (r *run) running(rnd *rand.Rand, like func(i int, n *sim.Node) bool) *sim.Node {
	var fit []*sim.Node
	for i, n := range r.s.Nodes() {
		if !n.Off() && (like == nil || like(i, n)) {
			fit = append(fit, n)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[rnd.IntN(len(fit))]
}

func met(err error) (bool, error) { return true, err }

func powerOf(which func(i int) bool) func(*run, *rand.Rand) (string, func() (bool, error)) {
	return func(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
		n := r.running(rnd, func(i int, _ *sim.Node) bool { return which(i) })
		if n == nil {
			return "", nil
		}
		if err := n.Kill(); err != nil {
			r.wrongf("take the power of %s: %v", n.Name, err)
		}
		return n.Name, func() (bool, error) { return met(n.Boot()) }
	}
}

func stopCoordinator(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
	n := r.running(rnd, func(_ int, n *sim.Node) bool { return n.CoordinatorRuns() })
	if n == nil {
		return "", nil
	}
	if err := r.s.StopCoordinator(n.Name); err != nil {
		r.wrongf("stop the coordinator of %s: %v", n.Name, err)
	}
	return n.Name, func() (bool, error) {
		if n.Off() || n.CoordinatorRuns() {
			return true, nil // booting starts it
		}
		return met(r.s.StartCoordinator(n.Name))
	}
}

// killCoordinator ends one without a goodbye. Everything else rests for that moment, as the
// files of a machine do that loses its power.
func killCoordinator(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
	n := r.running(rnd, func(_ int, n *sim.Node) bool { return n.CoordinatorRuns() })
	if n == nil {
		return "", nil
	}
	synctest.Wait()
	if err := n.KillCoordinator(rnd.Float64()); err != nil {
		r.wrongf("kill the coordinator of %s: %v", n.Name, err)
	}
	return n.Name, func() (bool, error) {
		if n.Off() || n.CoordinatorRuns() {
			return true, nil // booting starts it
		}
		return met(r.s.StartCoordinator(n.Name))
	}
}

func stopAgent(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
	n := r.running(rnd, func(_ int, n *sim.Node) bool { return n.AgentRuns() })
	if n == nil {
		return "", nil
	}
	if err := r.s.StopAgent(n.Name); err != nil {
		r.wrongf("stop the agent of %s: %v", n.Name, err)
	}
	return n.Name, func() (bool, error) { return met(r.restart(n)) }
}

// restart starts an agent that does not run on a node with power.
func (r *run) restart(n *sim.Node) error {
	if n.Off() || n.AgentRuns() {
		return nil
	}
	return r.s.StartAgent(n.Name)
}

func killAgent(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
	n := r.running(rnd, func(_ int, n *sim.Node) bool { return n.AgentRuns() })
	if n == nil || r.strikes("agent killed between two steps") {
		return "", nil
	}
	steps := 1 + rnd.IntN(20)
	r.crash.arm(n.Name, steps)
	return fmt.Sprintf("%s after %d steps", n.Name, steps), func() (bool, error) {
		hit := r.crash.happened()
		r.crash.arm("", 0)
		return hit, r.restart(n)
	}
}

// strikes says that a fault of that kind lasts.
func (r *run) strikes(name string) bool {
	return slices.ContainsFunc(r.faults, func(a *active) bool { return a.kind.name == name })
}

// struck says that one of these kinds has struck a node.
func (r *run) struck(node string, names ...string) bool {
	return slices.ContainsFunc(r.faults, func(a *active) bool {
		at, _, _ := strings.Cut(a.what, " ")
		return at == node && slices.Contains(names, a.kind.name)
	})
}

func endStreams(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
	n := r.running(rnd, nil)
	if n == nil {
		return "", nil
	}
	n.DRBD.EndStreams()
	return n.Name, func() (bool, error) { return true, nil }
}

func spoilTools(how string) func(*run, *rand.Rand) (string, func() (bool, error)) {
	return func(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
		n := r.running(rnd, func(_ int, n *sim.Node) bool { return !r.struck(n.Name, toolSlow, toolFails, toolLost, toolGarble) })
		if n == nil {
			return "", nil
		}
		r.tools.spoil(n.Name, how)
		return n.Name, func() (bool, error) {
			r.tools.spoil(n.Name, "")
			return r.tools.taken(how) > 0, nil
		}
	}
}

func hangLVM(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
	n := r.running(rnd, func(_ int, n *sim.Node) bool { return !r.struck(n.Name, hungLVM, fullGroup, nearPool, fullPool) })
	if n == nil {
		return "", nil
	}
	verb := []string{"fullreport", "lvcreate", "lvremove", "lvextend", "lvchange"}[rnd.IntN(5)]
	release := n.LVM.Hang(verb)
	return n.Name + " " + verb, func() (bool, error) { release(); return true, nil }
}

func hangDRBD(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
	n := r.running(rnd, nil)
	if n == nil {
		return "", nil
	}
	verb := []string{"drbdadm adjust", "drbdsetup primary", "drbdsetup secondary", "drbdmeta", "drbdsetup status", "drbdsetup down"}[rnd.IntN(6)]
	remove := n.DRBD.Inject(drbdtest.Fault{Match: verb, Hang: true})
	return n.Name + " " + verb, func() (bool, error) { remove(); return true, nil }
}
