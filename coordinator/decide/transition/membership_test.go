package transition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

type starter = func(transition.Input) (transition.Outcome, error)

func replace(id int) starter {
	return func(in transition.Input) (transition.Outcome, error) {
		return transition.Replace(in, id, model.ReplicaPlace{}, true)
	}
}

func addCopy(in transition.Input) (transition.Outcome, error) {
	return transition.AddDiskful(in, model.ReplicaPlace{})
}

func remove(id int) starter {
	return func(in transition.Input) (transition.Outcome, error) { return transition.Remove(in, id) }
}

func force(id int) starter {
	return func(in transition.Input) (transition.Outcome, error) { return transition.ForceRemove(in, id) }
}

func TestEveryStepOfEveryPlan(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		ftt, gmdr int
		old       bool
		before    func(*mesh)
		start     starter
		want      []string
	}{
		{"a copy of three is replaced: the quorum is raised with the fourth vote, and lowered with it", 1, 1, false, nil, replace(0), []string{
			"PlaceReplica 3: 0D 1D 2D, quorum 2/2",
			"JoinMesh 3: 0D 1D 2D 3A, quorum 2/2",
			"GainVote 3: 0D 1D 2D 3d, quorum 3/2",
			"AttachDisk 3: 0D 1D 2D 3D, quorum 3/2",
			"Synchronize 3: 0D 1D 2D 3D, quorum 3/2",
			"DetachDisk 0: 0d 1D 2D 3D, quorum 3/2",
			"LoseVote 0: 0A 1D 2D 3D, quorum 2/2",
			"LeaveMesh 0: 1D 2D 3D, quorum 2/2",
			"ReleaseReplica 0: 1D 2D 3D, quorum 2/2",
		}},
		{"a copy of two is replaced: the tie-breaker votes until that is over", 1, 0, false, nil, replace(1), []string{
			"PlaceReplica 3: 0D 1D 2T, quorum 2/1",
			"JoinMesh 3: 0D 1D 2T 3A, quorum 2/1",
			"GainVote 2: 0D 1D 2d 3A, quorum 2/1",
			"GainVote 3: 0D 1D 2d 3d, quorum 3/1",
			"AttachDisk 3: 0D 1D 2d 3D, quorum 3/1",
			"Synchronize 3: 0D 1D 2d 3D, quorum 3/1",
			"DetachDisk 1: 0D 1d 2d 3D, quorum 3/1",
			"LoseVote 1: 0D 1A 2d 3D, quorum 2/1",
			"LeaveMesh 1: 0D 2d 3D, quorum 2/1",
			"ReleaseReplica 1: 0D 2d 3D, quorum 2/1",
			"LoseVote 2: 0D 2T 3D, quorum 2/1",
		}},
		{"the only copy is replaced: quorum is on while there are two", 0, 0, false, nil, replace(0), []string{
			"PlaceReplica 1: 0D, quorum 0/0",
			"JoinMesh 1: 0D 1A, quorum 0/0",
			"GainVote 1: 0D 1d, quorum 2/1",
			"AttachDisk 1: 0D 1D, quorum 2/1",
			"Synchronize 1: 0D 1D, quorum 2/1",
			"DetachDisk 0: 0d 1D, quorum 2/1",
			"LoseVote 0: 0A 1D, quorum 0/0",
			"LeaveMesh 0: 1D, quorum 0/0",
			"ReleaseReplica 0: 1D, quorum 0/0",
		}},
		{"DRBD 8.4: the old copy leaves before the new one is filled, and goes at the end", 1, 0, true, nil, replace(1), []string{
			"PlaceReplica 2: 0D 1D, quorum 0/0",
			"LeaveMesh 1: 0D, quorum 0/0",
			"JoinMesh 2: 0D 2D, quorum 0/0",
			"Synchronize 2: 0D 2D, quorum 0/0",
			"ReleaseReplica 1: 0D 2D, quorum 0/0",
		}},
		{"DRBD 8.4: the only copy is replaced beside the new one", 0, 0, true, nil, replace(0), []string{
			"PlaceReplica 1: 0D, quorum 0/0",
			"JoinMesh 1: 0D 1D, quorum 0/0",
			"Synchronize 1: 0D 1D, quorum 0/0",
			"LeaveMesh 0: 1D, quorum 0/0",
			"ReleaseReplica 0: 1D, quorum 0/0",
		}},
		{"a fifth copy is added to four", 1, 2, false, nil, addCopy, []string{
			"PlaceReplica 4: 0D 1D 2D 3D, quorum 3/3",
			"JoinMesh 4: 0D 1D 2D 3D 4A, quorum 3/3",
			"GainVote 4: 0D 1D 2D 3D 4d, quorum 3/3",
			"AttachDisk 4: 0D 1D 2D 3D 4D, quorum 3/3",
			"Synchronize 4: 0D 1D 2D 3D 4D, quorum 3/3",
		}},
		{"a copy more than the class asks for is removed", 1, 1, false, func(m *mesh) { m.in.Layout = layout.Formula(0, 1) }, remove(2), []string{
			"DetachDisk 2: 0D 1D 2d, quorum 2/2",
			"LoseVote 2: 0D 1D 2A, quorum 2/2",
			"LeaveMesh 2: 0D 1D, quorum 2/2",
			"ReleaseReplica 2: 0D 1D, quorum 2/2",
		}},
		{"an access replica is added", 1, 1, false, nil, func(in transition.Input) (transition.Outcome, error) {
			return transition.AddAccess(in, "n3")
		}, []string{
			"PlaceReplica 3: 0D 1D 2D, quorum 2/2",
			"JoinMesh 3: 0D 1D 2D 3A, quorum 2/2",
		}},
		{"a dead copy is given up: the quorum is that of the others", 2, 2, false, dead(4), force(4), []string{
			"GiveUp 4: 0D 1D 2D 3D, quorum 3/3",
			"ReleaseReplica 4: 0D 1D 2D 3D, quorum 3/3",
		}},
		{"a dead copy of two is given up: what is left goes on alone", 0, 1, false, dead(1), force(1), []string{
			"GiveUp 1: 0D, quorum 0/0",
			"ReleaseReplica 1: 0D, quorum 0/0",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := layout.Formula(tc.ftt, tc.gmdr)
			if tc.old {
				l, _ = layout.NewDRBD84(tc.ftt, tc.gmdr)
			}
			m := newMesh(t, l, tc.old)
			if tc.before != nil {
				tc.before(m)
			}
			m.obey()
			m.begin(tc.start)
			if waits := m.run(); waits != "" {
				t.Fatalf("waits: %s\nafter %s", waits, strings.Join(m.seen, "\n"))
			}
			if diff := cmp.Diff(tc.want, m.seen); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// dead is a node that is off and fenced.
func dead(id int) func(*mesh) {
	return func(m *mesh) {
		m.hold = func(mem *transition.Member) {
			if mem.ID == id {
				mem.Known, mem.Fenced, mem.Up, mem.Resource = false, true, false, inventory.Resource{}
				return
			}
			for i := range mem.Resource.Peers {
				if mem.Resource.Peers[i].NodeID == id {
					mem.Resource.Peers[i].Connection = drbd.Connecting
				}
			}
		}
	}
}

func TestAReplacementReleasesTheOldCopyAndItsIDStaysTaken(t *testing.T) {
	t.Parallel()
	m := newMesh(t, layout.Formula(1, 1), false)
	m.begin(replace(0))
	m.run()
	if old := m.in.Members[0]; old.ID != 0 || !old.Deleting() || old.Reservations[0].State != model.Releasing {
		t.Errorf("the old copy: %+v", old.Replica)
	}
	if diff := cmp.Diff([]int{0}, m.in.Status.Datamesh.Forget); diff != "" {
		t.Errorf("to be forgotten: %s", diff)
	}
	m.in.Status.NextID = 0
	m.begin(addCopy)
	if got := m.in.Members[len(m.in.Members)-1].ID; got != 4 {
		t.Errorf("the next replica is %d: ids of replicas that are not proven gone are taken", got)
	}
}

func TestTheOnlyCopyWantedHasNobodyToConfirmWithAfterItMoved(t *testing.T) {
	t.Parallel()
	l, _ := layout.NewDRBD84(0, 0)
	m := newMesh(t, l, true)
	m.begin(func(in transition.Input) (transition.Outcome, error) {
		return transition.Replace(in, 0, model.ReplicaPlace{}, false)
	})
	if waits := m.run(); waits != "" {
		t.Fatalf("waits: %s\nafter %s", waits, strings.Join(m.seen, "\n"))
	}
	if sole := m.in.Status.Sole; sole != nil {
		t.Errorf("replica %d goes on alone for ever", *sole)
	}
}

// TestWhatAGuardProtects: each guard holds its step back, naming the replica and why.
func TestWhatAGuardProtects(t *testing.T) {
	t.Parallel()
	only := func(id int, change func(*transition.Member)) func(*transition.Member) {
		return func(m *transition.Member) {
			if m.ID == id {
				change(m)
			}
		}
	}
	connecting := func(m *transition.Member) {
		for i := range m.Resource.Peers {
			m.Resource.Peers[i].Connection = drbd.Connecting
		}
	}
	for _, tc := range []struct {
		name string
		stop string // the step that must not be reached
		hold func(*transition.Member)
		says string
	}{
		{"no place", "JoinMesh 3", only(3, func(m *transition.Member) {
			r := model.Clone(m.Replica)
			r.Port = 0
			r.Conditions = r.Conditions.With(model.Condition{Type: "Scheduled", Status: model.False, Message: "no capacity"}, r.CreatedAt)
			m.Replica = r
		}), "replica 3 (n3): it has no place: no capacity"},
		{"not prepared", "JoinMesh 3", only(3, func(m *transition.Member) { m.State.Preconfigured = false }), "replica 3 (n3): is not prepared yet"},
		{"one member does not know the newcomer", "GainVote 3", only(1, func(m *transition.Member) { m.State.AppliedRevision = 3 }), "replica 1 (n1): waiting for revision 4, it runs 3"},
		{"the newcomer is not connected with all", "GainVote 3", only(3, connecting), "replica 3 (n3): not connected to replica 0 (n0): Connecting"},
		{"its disk is not attached", "Synchronize 3", only(3, func(m *transition.Member) { m.Resource.Devices[0].Disk = drbd.Diskless }), "replica 3 (n3): its disk is not attached yet"},
		{"it is being copied", "DetachDisk 0", only(3, func(m *transition.Member) { m.Resource.Devices[0].Disk = drbd.Inconsistent }), "replica 3 (n3): its disk is"},
		{"another copy is Outdated: what stays is too little", "DetachDisk 0", func(m *transition.Member) {
			if m.ID == 1 || m.ID == 2 {
				m.Resource.Devices[0].Disk = drbd.Outdated
			}
		}, "without replica 0 there are 1 UpToDate copies, 2 are needed (replica 1 (n1): its disk is Outdated"},
		{"it is in use", "DetachDisk 0", only(0, func(m *transition.Member) { m.Resource.Role = drbd.Primary }), "replica 0 (n0) is in use on its node: detach the volume from n0 first"},
		{"it fills another", "DetachDisk 0", only(0, func(m *transition.Member) {
			m.Resource.Peers[0].Devices = []inventory.PeerDevice{{Replication: drbd.SyncSource}}
		}), "replica 0 (n0) is being copied from"},
		{"its disk is still there", "LoseVote 0", only(0, func(m *transition.Member) { m.Resource.Devices[0].Disk = drbd.UpToDate }), "replica 0 (n0): its disk is UpToDate, want Diskless"},
		{"one member still counts its vote", "LeaveMesh 0", only(2, func(m *transition.Member) { m.State.AppliedRevision = min(m.State.AppliedRevision, 7) }), "replica 2 (n2): waiting for revision 8"},
		{"one copy has not freed its bitmap slot", "ReleaseReplica 0", only(2, func(m *transition.Member) { m.State.AppliedRevision = min(m.State.AppliedRevision, 8) }), "replica 2 (n2): waiting for revision 9"},
		{"no report", "LeaveMesh 0", only(1, func(m *transition.Member) { m.Known = false }), "replica 1 (n1): no report of its node"},
		{"no report of a fenced node", "LeaveMesh 0", only(1, func(m *transition.Member) { m.Known, m.Fenced = false, true }), "give it up with `rvol replica remove db/1 --force`"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newMesh(t, layout.Formula(1, 1), false)
			m.begin(replace(0))
			m.hold = tc.hold
			waits := m.run()
			if !strings.Contains(waits, tc.says) {
				t.Errorf("waits for %q, want %q", waits, tc.says)
			}
			for _, s := range m.seen {
				if strings.HasPrefix(s, tc.stop) {
					t.Errorf("it went on: %s", s)
				}
			}
			m.hold = func(*transition.Member) {}
			for i := range m.in.Members {
				m.in.Members[i].Known = true
				r := model.Clone(m.in.Members[i].Replica)
				r.Port = 17000
				m.in.Members[i].Replica = r
			}
			if waits := m.run(); waits != "" {
				t.Errorf("it does not go on: %s", waits)
			}
		})
	}
}

func TestResyncsWaitTheirTurn(t *testing.T) {
	t.Parallel()
	m := newMesh(t, layout.Formula(1, 1), false)
	m.in.Resyncs, m.in.MaxResyncs = map[string]int{"n1": 2}, 2
	m.begin(addCopy)
	if waits := m.run(); !strings.Contains(waits, "node n1 takes part in 2 resyncs") {
		t.Errorf("waits for %q", waits)
	}
	if m.in.Resyncs = nil; m.run() != "" {
		t.Error("it does not go on when there is a turn")
	}
}

func TestChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	inUse := func(m *mesh) { m.in.Members[0].InUse = true }
	for _, tc := range []struct {
		name   string
		old    bool
		change func(*mesh)
		start  starter
		is     error
		says   string
	}{
		{"not formed", false, func(m *mesh) { m.in.Status.Formed = false }, replace(0), model.ErrBusy, "not formed"},
		{"going", false, func(m *mesh) { m.in.Volume.DeletingSince = m.in.Now }, addCopy, model.ErrBusy, "being deleted"},
		{"stopped", false, func(m *mesh) { m.in.Volume.Stopped = true }, addCopy, model.ErrBusy, "stopped"},
		{"in use there", false, inUse, replace(0), model.ErrBusy, "in use on node n0"},
		{"no such replica", false, nil, replace(7), model.ErrInvalid, "no replica 7"},
		{"a tie-breaker has no copy", false, nil, replace(2), model.ErrInvalid, "TieBreaker"},
		{"no more than the class asks for", false, nil, remove(0), model.ErrInvalid, "wants 2 copies"},
		{"the tie-breaker is needed", false, nil, remove(2), model.ErrInvalid, "wants 1 tie-breakers"},
		{"the node has one", false, nil, func(in transition.Input) (transition.Outcome, error) {
			return transition.AddDiskful(in, model.ReplicaPlace{Node: "n1"})
		}, model.ErrInvalid, "has replica db/1 already"},
		{"another change", false, func(m *mesh) {
			m.in.Status.Transitions = []model.Transition{{Type: "X", Plan: "x/v1"}}
		}, addCopy, model.ErrBusy, "x/v1"},
		{"a live one is not given up", false, nil, force(1), model.ErrBusy, "node n1 is not fenced"},
		{"one that is seen connected is not given up", false, func(m *mesh) {
			m.in.Members[1].Fenced, m.in.Members[1].Known = true, false
		}, force(1), model.ErrBusy, "is connected with replica 1 (n1)"},
		{"the last good copy is not given up", false, func(m *mesh) {
			dead(1)(m)
			m.obey()
			m.in.Members[0].Resource.Devices[0].Disk = drbd.Outdated
		}, force(1), model.ErrBusy, "no copy but that of replica 1"},
		{"DRBD 8.4: not without a word", true, nil, func(in transition.Input) (transition.Outcome, error) {
			return transition.Replace(in, 1, model.ReplicaPlace{}, false)
		}, model.ErrBusy, "--accept-single-copy"},
		{"DRBD 8.4: not when the other copy is behind", true, func(m *mesh) { m.in.Members[0].Resource.Devices[0].Disk = drbd.Inconsistent }, replace(1), model.ErrBusy, "without replica 1 there are 0"},
		{"DRBD 8.4: no third copy", true, nil, addCopy, model.ErrInvalid, "connects no more"},
		{"DRBD 8.4: no diskless replica", true, nil, func(in transition.Input) (transition.Outcome, error) {
			return transition.AddAccess(in, "n9")
		}, model.ErrInvalid, "UnsupportedByDRBD84"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := layout.Formula(1, 0)
			if tc.old {
				l, _ = layout.NewDRBD84(1, 0)
			}
			m := newMesh(t, l, tc.old)
			if tc.change != nil {
				tc.change(m)
			}
			out, err := tc.start(m.in)
			if !errors.Is(err, tc.is) || out.Changed() || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want one that says %q", err, tc.says)
			}
		})
	}
}

func TestANodeThatDiesInTheMiddleOfAMove(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		dies int
		want string // the mesh at the end
	}{
		{"the new one: the move ends, the old one stays", 3, "0D 1D 2D, quorum 2/2"},
		{"the old one: the new one is filled", 0, "1D 2D 3D, quorum 2/2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newMesh(t, layout.Formula(1, 1), false)
			m.begin(replace(0))
			m.hold = func(mem *transition.Member) {
				if mem.ID == 3 && mem.Resource.Disk() == drbd.UpToDate {
					mem.Resource.Devices[0].Disk = drbd.Inconsistent
				}
			}
			m.run()
			dead(tc.dies)(m)
			m.obey()
			if waits := m.run(); waits == "" && tc.dies == 3 {
				t.Fatal("it went on without the new copy")
			}
			m.begin(force(tc.dies))
			if waits := m.run(); waits != "" {
				t.Fatalf("waits: %s", waits)
			}
			if got := m.says(); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
