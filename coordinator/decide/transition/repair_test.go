package transition_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

func repair(id int) starter {
	return func(in transition.Input) (transition.Outcome, error) { return transition.Repair(in, id) }
}

// away is a node that nobody hears of and that nobody has fenced.
func away(id int) func(*mesh) {
	return func(m *mesh) {
		dead(id)(m)
		gone := m.hold
		m.hold = func(mem *transition.Member) {
			gone(mem)
			mem.Fenced = false
		}
	}
}

// back is that node again, with what it had.
func back(m *mesh) {
	m.hold = func(*transition.Member) {}
	for i := range m.in.Members {
		m.in.Members[i].Known = true
	}
}

func TestALostCopyIsReplacedWithoutItsWord(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		ftt, gmdr int
		old       bool
		before    func(*mesh)
		id        int
		want      []string
	}{
		{"of three: it stays a member until the new one is filled", 1, 1, false, away(2), 2, []string{
			"PlaceReplica 3: 0D 1D 2D, quorum 2/2",
			"JoinMesh 3: 0D 1D 2D 3A, quorum 2/2",
			"GainVote 3: 0D 1D 2D 3d, quorum 3/2",
			"AttachDisk 3: 0D 1D 2D 3D, quorum 3/2",
			"Synchronize 3: 0D 1D 2D 3D, quorum 3/2",
			"ForgetLost 2: 0D 1D 3D, quorum 3/2",
			"SettleQuorum 2: 0D 1D 3D, quorum 2/2",
			"ReleaseReplica 2: 0D 1D 3D, quorum 2/2",
		}},
		{"of two: the tie-breaker votes meanwhile", 1, 0, false, away(1), 1, []string{
			"PlaceReplica 3: 0D 1D 2T, quorum 2/1",
			"JoinMesh 3: 0D 1D 2T 3A, quorum 2/1",
			"GainVote 2: 0D 1D 2d 3A, quorum 2/1",
			"GainVote 3: 0D 1D 2d 3d, quorum 3/1",
			"AttachDisk 3: 0D 1D 2d 3D, quorum 3/1",
			"Synchronize 3: 0D 1D 2d 3D, quorum 3/1",
			"ForgetLost 1: 0D 2d 3D, quorum 3/1",
			"SettleQuorum 1: 0D 2d 3D, quorum 2/1",
			"ReleaseReplica 1: 0D 2d 3D, quorum 2/1",
			"LoseVote 2: 0D 2T 3D, quorum 2/1",
		}},
		{"of a machine that was set up anew: its agent reports, and has nothing", 1, 1, false, func(m *mesh) {
			m.hold = func(mem *transition.Member) {
				if mem.ID == 2 {
					mem.Up, mem.Resource, mem.State = false, inventory.Resource{}, inventory.ReplicaState{Error: "its volume group is not there"}
				}
			}
		}, 2, []string{
			"PlaceReplica 3: 0D 1D 2D, quorum 2/2",
			"JoinMesh 3: 0D 1D 2D 3A, quorum 2/2",
			"GainVote 3: 0D 1D 2D 3d, quorum 3/2",
			"AttachDisk 3: 0D 1D 2D 3D, quorum 3/2",
			"Synchronize 3: 0D 1D 2D 3D, quorum 3/2",
			"ForgetLost 2: 0D 1D 3D, quorum 3/2",
			"SettleQuorum 2: 0D 1D 3D, quorum 2/2",
			"ReleaseReplica 2: 0D 1D 3D, quorum 2/2",
		}},
		{"the tie-breaker: both are members for a while", 1, 0, false, away(2), 2, []string{
			"PlaceReplica 3: 0D 1D 2T, quorum 2/1",
			"JoinMesh 3: 0D 1D 2T 3T, quorum 2/1",
			"ForgetLost 2: 0D 1D 3T, quorum 2/1",
			"ReleaseReplica 2: 0D 1D 3T, quorum 2/1",
		}},
		{"on DRBD 8.4, fenced: it goes first", 1, 0, true, func(m *mesh) {
			dead(1)(m)
			m.in.Status.GoesAlone(0)
		}, 1, []string{
			"PlaceReplica 2: 0D 1D, quorum 0/0",
			"LeaveMesh 1: 0D, quorum 0/0",
			"JoinMesh 2: 0D 2D, quorum 0/0",
			"Synchronize 2: 0D 2D, quorum 0/0",
			"ReleaseReplica 1: 0D 2D, quorum 0/0",
		}},
		{"on DRBD 8.4, away while the other one was let go on alone", 1, 0, true, func(m *mesh) {
			away(1)(m)
			m.in.Status.GoesAlone(0)
		}, 1, []string{
			"PlaceReplica 2: 0D 1D, quorum 0/0",
			"LeaveMesh 1: 0D, quorum 0/0",
			"JoinMesh 2: 0D 2D, quorum 0/0",
			"Synchronize 2: 0D 2D, quorum 0/0",
			"ReleaseReplica 1: 0D 2D, quorum 0/0",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := repairMesh(t, tc.ftt, tc.gmdr, tc.old)
			tc.before(m)
			m.obey()
			m.begin(repair(tc.id))
			if waits := m.run(); waits != "" {
				t.Fatalf("waits: %s\nafter %s", waits, strings.Join(m.seen, "\n"))
			}
			if diff := cmp.Diff(tc.want, m.seen); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func repairMesh(t *testing.T, ftt, gmdr int, old bool) *mesh {
	t.Helper()
	l := layout.Formula(ftt, gmdr)
	if old {
		l, _ = layout.NewDRBD84(ftt, gmdr)
	}
	return newMesh(t, l, old)
}

func TestACopyThatIsNotProvenLostIsNotReplaced(t *testing.T) {
	t.Parallel()
	connected := func(m *mesh) {
		m.hold = func(mem *transition.Member) {
			if mem.ID == 2 {
				mem.Known = false
			}
		}
	}
	for _, tc := range []struct {
		name   string
		old    bool
		before func(*mesh)
		says   string
	}{
		{"its agent is silent, its data is there", false, connected, "replica 0 (n0) is connected with replica 2 (n2): its data is there, its agent is not"},
		{"another one is silent too", false, func(m *mesh) {
			away(2)(m)
			gone := m.hold
			m.hold = func(mem *transition.Member) {
				gone(mem)
				mem.Known = mem.Known && mem.ID != 1
			}
		}, "no report of replica 1 (n1) either"},
		{"it is in use there", false, func(m *mesh) { away(2)(m); m.in.Members[2].InUse = true }, "in use on node n2"},
		{"it is there", false, func(*mesh) {}, "replica 2 (n2) is up on its node"},
		{"no other copy is good", false, func(m *mesh) {
			away(2)(m)
			gone := m.hold
			m.hold = func(mem *transition.Member) {
				gone(mem)
				for i := range mem.Resource.Devices {
					mem.Resource.Devices[i].Disk = drbd.Outdated
				}
			}
		}, "no copy but that of replica 2 is known to be UpToDate"},
		{"DRBD 8.4: it may be as good as the other", true, away(1), "rvol node fence n1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			id, gmdr := 2, 1
			if tc.old {
				id, gmdr = 1, 0
			}
			m := repairMesh(t, 1, gmdr, tc.old)
			tc.before(m)
			m.obey()
			m.in.UIDs = []string{"uid-a"}
			_, err := transition.Repair(m.in, id)
			if !errors.Is(err, model.ErrBusy) || !strings.Contains(fmt.Sprint(err), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

// A node that comes back before its successor is filled keeps its copy; later it leaves as any
// other. Whenever that is, the volume ends with as many copies as it had.
func TestALostCopyComesBack(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ftt, gmdr int
		when      string // the step in which it comes back
		want      string
	}{
		{1, 1, "PlaceReplica 3", "0D 1D 2D, quorum 2/2"},
		{1, 1, "JoinMesh 3", "0D 1D 2D, quorum 2/2"},
		{1, 1, "AttachDisk 3", "0D 1D 2D, quorum 2/2"},
		{1, 1, "Synchronize 3", "0D 1D 3D, quorum 2/2"},
		{1, 1, "ForgetLost 2", "0D 1D 3D, quorum 2/2"},
		{1, 1, "SettleQuorum 2", "0D 1D 3D, quorum 2/2"},
		{1, 0, "PlaceReplica 3", "0D 1D 2T, quorum 2/1"},
		{1, 0, "JoinMesh 3", "0D 1D 2T, quorum 2/1"},
		{1, 0, "ForgetLost 2", "0D 1D 3T, quorum 2/1"},
	} {
		t.Run(tc.when, func(t *testing.T) {
			t.Parallel()
			m := repairMesh(t, tc.ftt, tc.gmdr, false)
			away(2)(m)
			m.obey()
			m.begin(repair(2))
			for active(m.in.Status) != tc.when {
				m.write(transition.Next(m.in))
			}
			back(m)
			m.obey()
			switch {
			case transition.Lost(&m.in.Status.Transitions[0]) == nil:
			case transition.Filled(m.in, 0):
				m.write(transition.Returned(m.in, 0))
			default:
				out, err := transition.Cancel(m.in, 0, transition.Target{}, "it is back")
				if err != nil {
					t.Fatal(err)
				}
				m.write(out)
			}
			if waits := m.run(); waits != "" || m.says() != tc.want {
				t.Errorf("ends with %s, waits %q, want %s\n%s", m.says(), waits, tc.want, strings.Join(m.seen, "\n"))
			}
		})
	}
}

func TestACopyThatIsBackIsSoundWhenItHasHeardOfWhatItMissed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		hold func(*transition.Member)
		want bool
	}{
		{"it is connected, and UpToDate", func(*transition.Member) {}, true},
		{"it is away", func(m *transition.Member) { m.Known = m.Known && m.ID != 2 }, false},
		{"it is up, and not connected yet", func(m *transition.Member) {
			for i := range m.Resource.Peers {
				m.Resource.Peers[i].Connection = drbd.Connecting
			}
		}, false},
		{"it is being filled", func(m *transition.Member) {
			if m.ID == 2 {
				m.Resource.Devices[0].Disk = drbd.Inconsistent
			}
		}, false},
		{"nobody else is UpToDate", func(m *transition.Member) {
			if m.ID != 2 {
				m.Resource.Devices[0].Disk = drbd.Outdated
			}
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := repairMesh(t, 1, 1, false)
			m.hold = tc.hold
			m.obey()
			if got := transition.Sound(m.in, 2); got != tc.want {
				t.Errorf("sound: %v", got)
			}
		})
	}
}

// TestQuorumWhileOneIsLost lets the lost copy be alive, with the mesh of before, and takes
// every way in which the others run the revision before or after a step: it never has quorum
// by its old count while others have it by theirs.
func TestQuorumWhileOneIsLost(t *testing.T) {
	t.Parallel()
	for _, l := range [][2]int{{0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 1}, {2, 2}} {
		t.Run(fmt.Sprint(l), func(t *testing.T) {
			t.Parallel()
			m := repairMesh(t, l[0], l[1], false)
			away(0)(m)
			m.obey()
			stale := m.in.Status.Datamesh
			m.begin(repair(0))
			for len(m.in.Status.Transitions) > 0 {
				before := m.in.Status.Datamesh
				out := transition.Next(m.in)
				if !out.Changed() {
					t.Fatalf("waits: %s", out.Wait)
				}
				m.write(out)
				j := judge{before: before, after: m.in.Status.Datamesh}
				if harm := j.harmBy(stale, 0); harm != "" {
					t.Fatalf("%s: %s\n%s", active(m.in.Status), harm, m.says())
				}
			}
			if got := m.in.Status.Datamesh; got.Quorum != stale.Quorum || len(got.Members) != len(stale.Members) {
				t.Errorf("at the end: %s", m.says())
			}
		})
	}
	// What the second step is there for.
	j := judge{before: meshOf("0D 1D 2D 3D", 3), after: meshOf("1D 2D 3D", 2)}
	if harm := j.harmBy(meshOf("0D 1D 2D", 2), 0); harm == "" {
		t.Error("forgotten with a lower quorum at once: no harm is seen")
	}
}

// TestQuorumWhileATieBreakerIsLost lets the lost tie-breaker be alive and with whoever still
// knows it: at no step do two parts of the mesh have quorum.
func TestQuorumWhileATieBreakerIsLost(t *testing.T) {
	t.Parallel()
	for _, l := range [][2]int{{1, 0}, {2, 1}} {
		t.Run(fmt.Sprint(l), func(t *testing.T) {
			t.Parallel()
			m := repairMesh(t, l[0], l[1], false)
			tie := layout.Formula(l[0], l[1]).Diskful
			away(tie)(m)
			m.obey()
			before := m.in.Status.Datamesh
			m.begin(repair(tie))
			for len(m.in.Status.Transitions) > 0 {
				was := m.in.Status.Datamesh
				out := transition.Next(m.in)
				if !out.Changed() {
					t.Fatalf("waits: %s", out.Wait)
				}
				m.write(out)
				if harm := (judge{before: was, after: m.in.Status.Datamesh}).harm(0, l[1]); harm != "" {
					t.Fatalf("%s: %s\n%s", active(m.in.Status), harm, m.says())
				}
			}
			if got := m.in.Status.Datamesh; got.Quorum != before.Quorum || len(got.Members) != len(before.Members) {
				t.Errorf("at the end: %s", m.says())
			}
		})
	}
	// What the second tie-breaker is there for.
	j := judge{before: meshOf("0D 1D 2T", 2), after: meshOf("0D 1D 3T", 2)}
	if harm := j.harm(0, 0); harm == "" {
		t.Error("one tie-breaker for another at once: no harm is seen")
	}
}

// harmBy says in which parts the lost one, by the mesh that it knows, and others both have
// quorum. Only who still knows it talks to it.
func (j judge) harmBy(stale model.Datamesh, lost int) string {
	all := 1 << lost
	for _, mesh := range []model.Datamesh{stale, j.before, j.after} {
		for _, m := range mesh.Members {
			all |= 1 << m.ID
		}
	}
	for part := 0; part <= all; part++ {
		if part&^all != 0 || part>>lost&1 == 0 {
			continue
		}
		knows := part
		if _, known := j.before.Member(lost); !known {
			knows = 1 << lost
		}
		others := all &^ part
		if quorateOf(stale, knows, 1<<lost) && (quorate(j.before, others) || quorate(j.after, others)) {
			return fmt.Sprintf("the lost replica has quorum in %b, and so have the others", part)
		}
	}
	return ""
}
