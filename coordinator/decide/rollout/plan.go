package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rvol/coordinator/model"
)

// A Volume is one volume of the class, as far as its turn depends on it.
type Volume struct {
	Name    string
	Wants   bool   // it is to be changed
	Running bool   // a change of it is under way
	Held    string // why its change may not begin; empty: it may
}

// A Plan is whose turn it is. Every volume that is to be changed, or is being changed, is in exactly one of its lists.
type Plan struct {
	Strategy string
	Max      int
	Next     []string // may begin now, in this order
	Running  []string
	Waiting  []string // for a slot
	Held     []Held
}

// Held is a volume that may not begin, and why.
type Held struct {
	Volume, Reason string
}

// Order gives volumes their turns, by name: at most max are under way at a time. A strategy that leaves volumes as they
// are holds them all.
func Order(strategy string, most int, volumes []Volume) Plan {
	p := Plan{Strategy: strategy, Max: most}
	sorted := slices.Clone(volumes)
	slices.SortFunc(sorted, func(a, b Volume) int { return cmp.Compare(a.Name, b.Name) })
	for _, v := range sorted {
		if v.Running {
			p.Running = append(p.Running, v.Name)
		}
	}
	for _, v := range sorted {
		switch {
		case v.Running || !v.Wants:
		case Leaves(strategy):
			p.Held = append(p.Held, Held{v.Name, strategy + ": it stays as it is until somebody changes it"})
		case v.Held != "":
			p.Held = append(p.Held, Held{v.Name, v.Held})
		case len(p.Running)+len(p.Next) < most:
			p.Next = append(p.Next, v.Name)
		default:
			p.Waiting = append(p.Waiting, v.Name)
		}
	}
	return p
}

// Leaves says whether a strategy leaves volumes as they are.
func Leaves(strategy string) bool {
	return strategy == model.RolloutNewVolumesOnly || strategy == model.ConflictManual
}

// Idle says that there is nothing to do and nothing being done.
func (p Plan) Idle() bool {
	return len(p.Next)+len(p.Running)+len(p.Waiting)+len(p.Held) == 0
}

// String is the plan in words: "2 at a time; running a; next b; 3 wait; 1 held (d: not formed yet)".
func (p Plan) String() string {
	if Leaves(p.Strategy) {
		return p.Strategy + ": they stay as they are"
	}
	parts := []string{fmt.Sprintf("%d at a time", p.Max)}
	for _, l := range []struct {
		word  string
		names []string
	}{{"running", p.Running}, {"next", p.Next}} {
		if len(l.names) > 0 {
			parts = append(parts, l.word+" "+Names(l.names))
		}
	}
	if n := len(p.Waiting); n > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", n))
	}
	if n := len(p.Held); n > 0 {
		parts = append(parts, fmt.Sprintf("%d held (%s: %s)", n, p.Held[0].Volume, p.Held[0].Reason))
	}
	return strings.Join(parts, "; ")
}

// maxNames is how many names a sentence lists before it only counts.
const maxNames = 5

// Names lists names for a sentence: all of a few, and how many more there are.
func Names(names []string) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}
