package repair

import (
	"fmt"
	"slices"
	"time"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/model"
)

// Needed is the condition of a volume that wants a repair; its reasons tell how far that is.
const (
	Needed = "RepairNeeded"

	WaitingForReturn = "WaitingForReturn" // it has not lasted long enough
	AwaitFailover    = "AwaitFailover"    // its turn has not come, or there is no place to go
	Blocked          = "RepairBlocked"    // somebody has to do something
	Disabled         = "RepairDisabled"   // the class says so
	InProgress       = "RepairInProgress"
)

// An Action is what is to be done about a replica.
type Action string

// The actions.
const (
	Nothing       Action = ""
	Replace       Action = "replace"        // of a copy that is there, or whose kernel is
	Repair        Action = "repair"         // of a copy or tie-breaker that is gone with its kernel
	Add           Action = "add"            // a copy
	AddTieBreaker Action = "add-tiebreaker" // a vote
	RemoveVote    Action = "remove-tiebreaker"
)

// Limits bound how much is repaired at a time.
type Limits struct {
	Cluster int // in the whole cluster
	PerNode int // that a node takes part in
}

// DefaultLimits leave room for the volumes' users.
func DefaultLimits() Limits { return Limits{Cluster: 8, PerNode: 2} }

// Volume is a formed volume as far as its repair depends on it.
type Volume struct {
	Name        string
	Layout      layout.Layout
	Replicas    []Replica // sorted by id
	RepairAfter time.Duration
	Rolling     bool // its class moves what is no longer eligible
	Turn        bool // and it is this volume's turn
	// Lasted says how long a cause of a replica has lasted; of what is missing, the id is -1.
	Lasted func(id int, c Cause) time.Duration
	// Busy is what is under way already; "": nothing is.
	Busy string
}

// None is the id of a replica that is missing.
const None = -1

// A Finding is one thing that is wrong.
type Finding struct {
	Cause Cause
	ID    int // of the replica; None: one is missing
	Why   string
}

// A Verdict is what is to be done now, or why nothing is.
type Verdict struct {
	Finding

	Do     Action
	Reason string        // of the condition Needed; "": there is nothing to repair
	Again  time.Duration // look again after this long
}

// Findings are all that is wrong with a volume, the most urgent first.
func Findings(v Volume) []Finding {
	var out []Finding
	copies, ties := 0, 0
	for _, r := range v.Replicas {
		cause, why := Find(r)
		if cause != "" {
			out = append(out, Finding{cause, r.ID, why})
		}
		if r.Deleting() || r.Leaving {
			continue
		}
		copies += b01(r.Type == model.Diskful)
		ties += b01(r.Type == model.TieBreaker && (cause != NotEligible || !v.Rolling))
	}
	if copies < v.Layout.Diskful {
		out = append(out, Finding{CopyMissing, None, fmt.Sprintf("it has %d of %d copies", copies, v.Layout.Diskful)})
	}
	if ties < v.Layout.TieBreakers && !slices.ContainsFunc(out, func(f Finding) bool { return f.Cause == NotEligible }) {
		out = append(out, Finding{TieBreakerMissing, None, fmt.Sprintf("it has %d of %d tie-breakers", ties, v.Layout.TieBreakers)})
	}
	order := Causes()
	slices.SortStableFunc(out, func(a, b Finding) int { return slices.Index(order, a.Cause) - slices.Index(order, b.Cause) })
	return out
}

// Decide says what is to be done about the most urgent finding that is due, or what the most
// urgent one waits for.
func Decide(v Volume) Verdict {
	findings := Findings(v)
	if len(findings) == 0 {
		return Verdict{}
	}
	var first *Verdict
	for _, f := range findings {
		got := v.judge(f)
		if got.Do != Nothing {
			return got
		}
		if first == nil {
			first = &got
		} else if got.Again > 0 && (first.Again == 0 || got.Again < first.Again) {
			first.Again = got.Again
		}
	}
	return *first
}

// judge says what is to be done about one finding.
func (v Volume) judge(f Finding) Verdict {
	out := Verdict{Finding: f}
	if f.Cause == NotEligible {
		return v.misplaced(out)
	}
	if f.Cause == PoolFull {
		r := v.Replica(f.ID)
		out.Reason = Blocked
		out.Why = fmt.Sprintf("%s: extend it, on %s: lvextend %s/%s; the copy is not replaced for that, it is attached again when there is room", f.Why, r.Node, r.VG, r.ThinPool)
		return out
	}
	if v.RepairAfter == 0 {
		out.Reason, out.Why = Disabled, f.Why+"; its class repairs nothing by itself (repair-after 0)"
		return out
	}
	if v.Busy != "" {
		out.Reason, out.Why = AwaitFailover, f.Why+"; "+v.Busy+" is under way"
		return out
	}
	grace := f.Cause.Grace(v.RepairAfter)
	if lasted := v.Lasted(f.ID, f.Cause); lasted < grace {
		out.Reason, out.Again = WaitingForReturn, grace-lasted
		out.Why = fmt.Sprintf("%s; it is replaced when that has lasted %s", f.Why, grace)
		if f.ID == None {
			out.Why = fmt.Sprintf("%s; one is made when that has lasted %s", f.Why, grace)
		}
		return out
	}
	return v.due(out)
}

// due picks the action for what has lasted long enough.
func (v Volume) due(out Verdict) Verdict {
	r := v.Replica(out.ID)
	switch {
	case out.Cause == CopyMissing:
		out.Do = Add
	case out.Cause == TieBreakerMissing:
		out.Do = AddTieBreaker
	case r.Type == model.Access:
		out.Reason = Blocked
		out.Why += fmt.Sprintf("; it has no data: when the node is known to be off, `rvol node fence %s` and `rvol replica remove %s --force`", r.Node, r.Name)
	case r.Up:
		out.Do = Replace
	default:
		out.Do = Repair
	}
	return out
}

// misplaced moves what stands on nodes that are no longer eligible, when it is the volume's turn.
func (v Volume) misplaced(out Verdict) Verdict {
	r := v.Replica(out.ID)
	lasted := v.Lasted(out.ID, NotEligible)
	switch {
	case !v.Rolling:
		return Verdict{} // the condition SatisfyEligibleNodes says so
	case lasted < PlaceGrace:
		return Verdict{Again: PlaceGrace - lasted}
	case v.Busy != "":
		out.Reason, out.Why = AwaitFailover, out.Why+"; "+v.Busy+" is under way"
	case !v.Turn:
		out.Reason, out.Why = AwaitFailover, out.Why+"; other volumes of its class are moved first"
	case r.Type == model.Diskful:
		out.Do = Replace
	case v.spareTie():
		out.Do = RemoveVote
	default:
		out.Do = AddTieBreaker
	}
	return out
}

// spareTie says that there are enough tie-breakers where they may be.
func (v Volume) spareTie() bool {
	n := 0
	for _, r := range v.Replicas {
		n += b01(r.Type == model.TieBreaker && !r.Deleting() && !r.Leaving && r.Eligible)
	}
	return n >= v.Layout.TieBreakers
}

// Replica is the replica with the given id; one of which nothing is known: there is none.
func (v Volume) Replica(id int) Replica {
	if i := slices.IndexFunc(v.Replicas, func(r Replica) bool { return r.ID == id }); i >= 0 {
		return v.Replicas[i]
	}
	return Replica{Replica: &model.Replica{ID: None}}
}

func b01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Room says why a repair may not begin now, by how many are under way in the cluster and on
// each node that it takes part in. "": it may.
func (l Limits) Room(running int, byNode map[string]int, nodes []string) string {
	if running >= l.Cluster {
		return fmt.Sprintf("%d repairs are under way, %d at a time are allowed", running, l.Cluster)
	}
	for _, n := range nodes {
		if byNode[n] >= l.PerNode {
			return fmt.Sprintf("node %s takes part in %d repairs, %d at a time are allowed", n, byNode[n], l.PerNode)
		}
	}
	return ""
}
