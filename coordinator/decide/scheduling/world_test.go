package scheduling_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"rvol/coordinator/decide/scheduling"
)

// World reads a cluster and a volume as a person would note them:
//
//	node a1 zone=a vg0=5 vg1=!3 vg2=40/100 vg3=? vg4/tp0=5 down
//	replica 0 D
//	replica 1 D at a1/vg0 deleting
//	replica 2 TB
//
// vg0=5 is a score, 40/100 are the bytes available and in all, ? is unknown, ! is not ready.
func world(t *testing.T, text string) ([]scheduling.Node, []scheduling.Replica) {
	t.Helper()
	var nodes []scheduling.Node
	var replicas []scheduling.Replica
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "node":
			nodes = append(nodes, worldNode(t, words[1], words[2:]))
		case words[0] == "replica":
			replicas = append(replicas, worldReplica(t, words[1:]))
		default:
			t.Fatalf("a line of a world that is neither node nor replica: %q", line)
		}
	}
	return nodes, replicas
}

func worldNode(t *testing.T, name string, words []string) scheduling.Node {
	t.Helper()
	n := scheduling.Node{Name: name, Ready: true, AgentReady: true}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "zone":
			n.Zone = value
		case "drbd":
			n.DRBD = value
		case "down":
			n.Ready = false
		case "agentless":
			n.AgentReady = false
		case "cordoned":
			n.Unschedulable = true
		default:
			n.LVGs = append(n.LVGs, worldLVG(t, key, value))
		}
	}
	return n
}

func worldLVG(t *testing.T, name, room string) scheduling.LVG {
	t.Helper()
	room, notReady := strings.CutPrefix(room, "!")
	l := scheduling.LVG{Name: name, Ready: !notReady}
	l.Name, l.ThinPool, _ = strings.Cut(name, "/")
	available, total, bytes := strings.Cut(room, "/")
	switch {
	case room == "?":
	case bytes:
		l.Capacity = scheduling.Room(number(t, available), number(t, total))
	default:
		l.Capacity = scheduling.Score(number(t, room))
	}
	return l
}

func worldReplica(t *testing.T, words []string) scheduling.Replica {
	t.Helper()
	types := map[string]scheduling.ReplicaType{
		"D": scheduling.Diskful, "TB": scheduling.TieBreaker, "A": scheduling.Access,
	}
	r := scheduling.Replica{ID: int(number(t, words[0])), Type: types[words[1]]}
	for i, word := range words[2:] {
		switch word {
		case "at":
			parts := append(strings.Split(words[i+3], "/"), "", "")
			r.Place = scheduling.Place{Node: parts[0], LVG: parts[1], ThinPool: parts[2]}
		case "deleting":
			r.Deleting = true
		}
	}
	return r
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// outcome writes a result as the tables want it: where each replica is, or what is said of it, then the search.
func outcome(r scheduling.Result) string {
	var s strings.Builder
	for _, p := range r.Replicas {
		at := p.Place.String()
		if at == "" {
			at = "-"
		}
		fmt.Fprintf(&s, "%d %s", p.ID, at)
		switch p.Scheduled {
		case scheduling.False, scheduling.Unknown:
			fmt.Fprintf(&s, " %s %s: %s", p.Scheduled, p.Reason, p.Message)
		case scheduling.Absent:
			s.WriteString(" absent")
		case scheduling.Unchanged:
			s.WriteString(" unchanged")
		case scheduling.True:
		}
		s.WriteString("\n")
	}
	if r.Search != nil {
		fmt.Fprintf(&s, "search found %v\n", r.Search.Found)
	}
	return s.String()
}

// unindent makes the raw strings of a table comparable.
func unindent(text string) string {
	var s strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			s.WriteString(line + "\n")
		}
	}
	return s.String()
}
