package chaos

import (
	"fmt"
	"math/rand/v2"

	"rvol/cmd/internal/lab/sim"
)

// links are the kinds of partitions: between whom, what is lost, and in which directions.
func links() []kind {
	var out []kind
	for _, between := range []struct {
		name       string
		from, upTo [2]int // of indexes of nodes
	}{
		{"coordinator and coordinator", [2]int{0, coordinators}, [2]int{0, coordinators}},
		{"coordinator and agent", [2]int{0, coordinators}, [2]int{coordinators, nodes}},
		{"agent and agent", [2]int{coordinators, nodes}, [2]int{coordinators, nodes}},
	} {
		for _, oneWay := range []bool{false, true} {
			for _, t := range []struct {
				name string
				cut  func(c *sim.Cluster, a, b string, oneWay bool)
			}{
				{"all", (*sim.Cluster).Cut},
				{"control", (*sim.Cluster).CutControl},
				{"replication", (*sim.Cluster).CutReplication},
			} {
				if t.name == "control" && between.name == "agent and agent" {
					continue // they do not speak to each other
				}
				name := "cut of " + between.name + ", " + t.name
				if oneWay {
					name += ", one way"
				}
				out = append(out, kind{name, func(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
					a := between.from[0] + rnd.IntN(between.from[1]-between.from[0])
					b := between.upTo[0] + rnd.IntN(between.upTo[1]-between.upTo[0])
					if a == b {
						b = between.upTo[0] + (b+1-between.upTo[0])%(between.upTo[1]-between.upTo[0])
					}
					if rnd.IntN(2) == 0 {
						a, b = b, a
					}
					from, to := r.s.Nodes()[a].Name, r.s.Nodes()[b].Name
					t.cut(r.s.Cluster, from, to, oneWay)
					return fmt.Sprintf("%s to %s", from, to), func() (bool, error) { r.s.HealLink(from, to); return true, nil }
				}})
			}
		}
	}
	return out
}

func isolate(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
	n := r.running(rnd, nil)
	if n == nil {
		return "", nil
	}
	r.s.Cluster.Isolate(n.Name)
	return n.Name, func() (bool, error) {
		for _, o := range r.s.Nodes() {
			if o != n {
				r.s.HealLink(n.Name, o.Name)
			}
		}
		return true, nil
	}
}

// reset breaks what agents and coordinators of a node have open, with what is under way.
func reset(r *run, rnd *rand.Rand) (string, func() (bool, error)) {
	n := r.running(rnd, nil)
	if n == nil {
		return "", nil
	}
	for _, o := range r.s.Nodes() {
		r.s.Reset(n.Name, o.Name)
	}
	return n.Name, func() (bool, error) { return true, nil }
}
