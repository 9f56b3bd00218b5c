package transition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
)

// TestQuorumAtEveryStep takes every way between two layouts, moves a copy in each, and asks at
// every step, with any members at the revision before and the others at the new one: can two
// parts of the mesh have quorum at once? Is there quorum after any one member died, where old
// and new layout promise that? Is every write on as many copies as both promise? Then it goes
// back from every step that can be gone back from, and asks the same.
func TestQuorumAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, from := range layouts {
		for _, to := range layouts {
			for _, holds := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v to %v, %v", from, to, holds), func(t *testing.T) {
					t.Parallel()
					walks(t, from, to, changeTo(to[0], to[1], holds))
				})
			}
		}
		t.Run(fmt.Sprintf("move in %v", from), func(t *testing.T) {
			t.Parallel()
			walks(t, from, from, replace(0))
		})
	}
}

// walks carries a change out, and cancels it at each of its steps.
func walks(t *testing.T, from, to [2]int, start starter) {
	t.Helper()
	for cancelAt := 0; ; cancelAt++ {
		m := newMesh(t, layout.Formula(from[0], from[1]), false)
		m.in.Status.Configuration = &model.Configuration{FTT: from[0], GMDR: from[1]}
		m.begin(start)
		end, reached := to, false
		for k := 0; len(m.in.Status.Transitions) > 0; k++ {
			before := m.in.Status.Datamesh
			out := transition.Next(m.in)
			if k == cancelAt {
				reached = true
				if back, err := transition.Cancel(m.in, 0, target(m.in, from[0], from[1], true), "no more"); err == nil {
					out, end = back, from
				}
			}
			if !out.Changed() {
				t.Fatalf("waits: %s", out.Wait)
			}
			m.write(out)
			m.seen = append(m.seen, active(m.in.Status)+": "+m.says())
			j := judge{before: before, after: m.in.Status.Datamesh}
			if harm := j.harm(min(from[0], to[0]), min(from[1], to[1])); harm != "" {
				t.Fatalf("%s: %s (cancelled at %d)\n%s", active(m.in.Status), harm, cancelAt, strings.Join(m.seen, "\n"))
			}
		}
		l, q := layout.Formula(end[0], end[1]), m.in.Status.Datamesh
		if l.Diskful > 1 && (q.Quorum != l.Quorum || q.QuorumMinimumRedundancy != l.QuorumMinimumRedundancy) || len(q.Members) != l.Replicas() {
			t.Fatalf("at the end: %s, want %s (cancelled at %d)", m.says(), l.Short(), cancelAt)
		}
		if !reached { // it has no more steps
			return
		}
	}
}

// TestTheHarmOfShortcuts shows what the steps are there for: each of these goes from one mesh
// to another at once.
func TestTheHarmOfShortcuts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name          string
		before, after string
		quorum        [2]int
		want          string
	}{
		{"a fourth vote without a higher quorum", "0D 1D 2D", "0D 1D 2D 3D", [2]int{2, 2}, "both have quorum"},
		{"a higher quorum before the vote", "0D 1D 2D", "0D 1D 2D", [2]int{2, 3}, "nobody has quorum"},
		{"a lower quorum before the vote has gone", "0D 1D 2D 3d", "0D 1D 2D 3d", [2]int{3, 2}, "both have quorum"},
		{"a vote beside a tie-breaker that counts", "0D 1D 2T 3A", "0D 1D 2T 3d", [2]int{2, 2}, "both have quorum"},
		{"a vote that goes while the tie-breaker begins to count", "0D 1D 2T 3d", "0D 1D 2T 3A", [2]int{2, 2}, "both have quorum"},
		{"the same with the tie-breaker voting", "0D 1D 2d 3A", "0D 1D 2d 3d", [2]int{2, 3}, ""},
		{"two votes at a time", "0D 1D 2D", "0D 1D 2D 3d 4d", [2]int{2, 3}, "both have quorum"},
		{"one vote in exchange for another", "0D 1D 2D", "0D 1D 3D", [2]int{2, 2}, "both have quorum"},
	} {
		j := judge{before: meshOf(tc.before, tc.quorum[0]), after: meshOf(tc.after, tc.quorum[1])}
		if got := j.harm(1, 0); !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// meshOf reads what mesh.says writes.
func meshOf(s string, quorum int) model.Datamesh {
	types := map[byte]model.ReplicaType{'D': model.Diskful, 'd': model.LiminalDiskful, 'A': model.Access, 'T': model.TieBreaker}
	mesh := model.Datamesh{Quorum: quorum, QuorumMinimumRedundancy: 1}
	for w := range strings.FieldsSeq(s) {
		mesh.Members = append(mesh.Members, model.DatameshMember{ID: int(w[0] - '0'), Type: types[w[1]]})
	}
	return mesh
}

// judge counts votes as DRBD does, for a mesh whose members run one of two revisions. A set of
// members is the bits of their ids.
type judge struct{ before, after model.Datamesh }

// harm says what could go wrong.
func (j judge) harm(ftt, gmdr int) string {
	if q := j.after; q.Quorum > 0 && q.QuorumMinimumRedundancy < gmdr+1 {
		return fmt.Sprintf("a write needs %d copies, %d are promised", q.QuorumMinimumRedundancy, gmdr+1)
	}
	all := 0
	for _, m := range slices.Concat(j.before.Members, j.after.Members) {
		all |= 1 << m.ID
	}
	// What a part can do depends on who of it has which revision: all of them are asked.
	var serves [2][]bool // by revision and part: somebody with a disk, and that revision, has quorum
	for k, mesh := range []model.Datamesh{j.before, j.after} {
		serves[k] = make([]bool, all+1)
		for part := 0; part <= all; part++ {
			serves[k][part] = part&^all == 0 && quorate(mesh, part)
		}
	}
	for left := 0; left <= all; left++ {
		right := all &^ left
		if left&^all != 0 {
			continue
		}
		if (serves[0][left] || serves[1][left]) && (serves[0][right] || serves[1][right]) {
			return fmt.Sprintf("replicas %b and %b both have quorum", left, right)
		}
	}
	for id := 0; ftt > 0 && 1<<id <= all; id++ {
		if all>>id&1 == 1 && !staysInUse(j, all&^(1<<id)) {
			return fmt.Sprintf("after replica %d died nobody has quorum", id)
		}
	}
	return ""
}

// staysInUse asks of every way in which the members of a part run one revision or the other.
func staysInUse(j judge, part int) bool {
	for updated := part; ; updated = (updated - 1) & part {
		old, young := quorateOf(j.before, part, part&^updated), quorateOf(j.after, part, updated)
		if !old && !young {
			return false
		}
		if updated == 0 {
			return true
		}
	}
}

// quorate says that some member with a disk has quorum in a part, if it runs the mesh.
func quorate(mesh model.Datamesh, part int) bool { return quorateOf(mesh, part, part) }

// quorateOf asks of those alone who run the mesh. They had quorum before: tie-breakers count.
func quorateOf(mesh model.Datamesh, part, run int) bool {
	voters, present, ties, seen, disk := 0, 0, 0, 0, false
	for _, m := range mesh.Members {
		here := part >> m.ID & 1
		switch m.Type {
		case model.Diskful:
			voters, present = voters+1, present+here
			disk = disk || run>>m.ID&1 == 1
		case model.LiminalDiskful:
			voters, present = voters+1, present+here
		case model.TieBreaker:
			ties, seen = ties+1, seen+here
		case model.Access:
		}
	}
	half := voters%2 == 0 && present == mesh.Quorum-1 && ties > 0 && 2*seen > ties
	return disk && (present >= mesh.Quorum || half)
}
