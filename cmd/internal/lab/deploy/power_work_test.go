//go:build kernellab

package deploy_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"rvol/cmd/internal/lab"
	"rvol/drbd"
)

// volume is one, as rvol shows it.
type volume struct {
	Meta           struct{ Name string }
	State, Message string
	Formed         bool
	Devices        []struct{ Size int64 }
	Formation      *transition
	Transitions    []transition
	Replicas       []struct {
		Meta struct{ Name string }
		Node string
	}
	Attachments []struct {
		Node       string
		Conditions []struct{ Type, Status string }
	}
}

type transition struct {
	Abort string
	Steps []struct{ Name, Status string }
}

func (t transition) at() string {
	for _, s := range t.Steps {
		if s.Status != "Completed" {
			return s.Name
		}
	}
	return "its end"
}

// nodes are those with copies, sorted.
func (v volume) nodes() (nodes []string) {
	for _, r := range v.Replicas {
		nodes = append(nodes, r.Node)
	}
	slices.Sort(nodes)
	return nodes
}

func (v volume) usableOn(node string) bool {
	for _, a := range v.Attachments {
		for _, c := range a.Conditions {
			if a.Node == node && c.Type == "Ready" && c.Status == "True" {
				return true
			}
		}
	}
	return false
}

// at rest: ready, and nothing is being done with it.
func (v volume) rests() bool { return v.State == "ready" && v.Formed && len(v.Transitions) == 0 }

// work is one thing that is under way when the power goes.
type work struct {
	kind, volume string
	line         string        // the command that begins it
	after        time.Duration // when it begins
	user, copy   string        // who uses the volume, and who has the other copy in the end; empty: nobody

	underWay func(volume) string // at what; "": not any more
	done     func(volume) bool   // it has ended as it should
}

// givenUp says that nobody does it any more, and it has not ended as it should.
func (w *work) givenUp(v volume) bool {
	switch w.kind {
	case "move":
		return v.rests() && len(v.Replicas) == 2 // else the one that leaves is still to be proven gone
	case "resize":
		return v.rests()
	case "attach", "attach beside":
		return len(v.Attachments) == 0
	}
	return false
}

// span is how long before the loss of power the first work may begin.
const span = 3 * time.Second

// before is an instant at most so long before the power goes.
func before(most time.Duration) time.Duration { return span - time.Duration(rand.Int64N(int64(most))) }

func transits(v volume) string {
	if len(v.Transitions) == 0 {
		return ""
	}
	return v.Transitions[0].at()
}

// moves is a copy that is moved while the volume is written.
func (l *loss) moves() *work {
	both := slices.Sorted(slices.Values([]string{l.stays, l.joins}))
	return &work{
		kind: "move", volume: "moved" + l.suffix, after: before(span), user: l.stays, copy: l.joins, underWay: transits,
		done: func(v volume) bool { return v.rests() && slices.Equal(v.nodes(), both) },
	}
}

// moveLine names the copy that is to leave.
func (l *loss) moveLine(v volume) string {
	for _, r := range v.Replicas {
		if r.Node == l.leaves {
			return "replica move " + r.Meta.Name + " --to " + l.joins + " --accept-single-copy"
		}
	}
	l.Fatalf("%s has copies on %q, want one on %s", v.Meta.Name, v.nodes(), l.leaves)
	return ""
}

// grows is a volume that grows while it is written. Whoever is left with a disk that has grown and a device that has not holds its
// size until both meet: two kernels of DRBD 8.4 would each take another one.
func (l *loss) grows(user, other string) *work {
	name := "grown" + l.suffix
	return &work{
		kind: "resize", volume: name, line: "volume resize " + name + " 64MiB", after: before(800 * time.Millisecond), user: user, copy: other, underWay: transits,
		done: func(v volume) bool { return v.rests() && v.Devices[0].Size == 64<<20 },
	}
}

// made is a volume that is being formed.
func (l *loss) made() *work {
	name := "made" + l.suffix
	return &work{
		kind: "create", volume: name, line: "volume create " + name + " --size 32MiB --class with-" + l.lost, after: before(1500 * time.Millisecond),
		underWay: func(v volume) string {
			switch {
			case v.Formed:
				return ""
			case v.Formation == nil:
				return "its beginning"
			}
			return v.Formation.at()
		},
		done: volume.rests,
	}
}

// deleted is a volume that goes.
func (l *loss) deleted() *work {
	name := "deleted" + l.suffix
	return &work{
		kind: "delete", volume: name, line: "volume delete " + name + " --yes", after: before(600 * time.Millisecond),
		underWay: func(v volume) string { return v.State },
		done:     func(v volume) bool { return v.Meta.Name == "" },
	}
}

// used is a volume that is to be used on a node. The kernel that is left tells whether it is: a Primary asks its peer first.
func (l *loss) used(kind, node string) *work {
	name := "used" + node + l.suffix
	return &work{
		kind: kind, volume: name, line: "volume attach " + name + " " + node, after: before(100 * time.Millisecond),
		underWay: func(volume) string {
			r := l.kernel["rvol-"+name]
			role := r.Role
			if node == l.lost {
				role = ""
				if len(r.Peers) == 1 {
					role = r.Peers[0].Role
				}
			}
			if role != drbd.Secondary {
				return ""
			}
			return "Secondary"
		},
		done: func(v volume) bool { return v.rests() && v.usableOn(node) },
	}
}

// volumes are all there are, by name, as soon as a leader tells.
func (l *loss) volumes() map[string]volume {
	l.Helper()
	var list []volume
	all := map[string]volume{}
	begun := time.Now()
	for {
		err := l.Client.Read(l.Context(), &list, "volume", "list")
		if err == nil {
			break
		}
		if time.Since(begun) > time.Minute {
			l.Fatal(err)
		}
	}
	for _, v := range list {
		all[v.Meta.Name] = v
	}
	return all
}

// until waits until nothing is missing.
func (l *loss) until(what string, missing func(map[string]volume) string) {
	l.Helper()
	var last string
	for begun := time.Now(); time.Since(begun) < 3*time.Minute; {
		if last = missing(l.volumes()); last == "" {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	l.Fatalf("%s: not yet: %s", what, last)
}

// resources are those that a node's kernel holds, by name.
func (l *loss) resources(node string) map[string]drbd.Resource {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
	defer cancel()
	run := lab.Runner(l.World, node)
	version, err := drbd.Detect(ctx, run)
	if err != nil {
		l.Fatal(err)
	}
	list, err := drbd.New(run, version).StatusAll(ctx)
	if err != nil {
		l.Fatal(err)
	}
	all := map[string]drbd.Resource{}
	for _, r := range list {
		all[r.Name] = r
	}
	return all
}

func names(all map[string]volume) []string { return slices.Sorted(maps.Keys(all)) }
