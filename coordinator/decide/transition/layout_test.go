package transition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// layouts are those that a class may have.
var layouts = [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 1}, {2, 2}}

// changeTo begins to give a volume another layout. Every node can hold a copy, unless
// onlyThree: then no new replica finds a place beyond three.
func changeTo(ftt, gmdr int, holds bool) starter {
	return func(in transition.Input) (transition.Outcome, error) {
		return transition.ChangeLayout(in, target(in, ftt, gmdr, holds))
	}
}

func target(in transition.Input, ftt, gmdr int, holds bool) transition.Target {
	to := transition.Target{
		Configuration: &model.Configuration{FTT: ftt, GMDR: gmdr}, Generation: 2, Layout: layout.Formula(ftt, gmdr),
		Holds: map[string]bool{}, Misplaced: map[int]bool{},
	}
	if in.Status.DRBD == "8.4" {
		to.Layout, _ = layout.NewDRBD84(ftt, gmdr)
	}
	for _, m := range in.Members {
		to.Holds[m.Node] = holds
	}
	return to
}

func TestALayoutChangesStepByStep(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		ftt, gmdr int
		old       bool
		start     starter
		want      []string
	}{
		{"three copies to two: one becomes the tie-breaker where it is", 1, 1, false, changeTo(1, 0, true), []string{
			"LowerRedundancy: 0D 1D 2D, quorum 2/1",
			"DetachDisk 2: 0D 1D 2d, quorum 2/1",
			"LoseVote 2: 0D 1D 2T, quorum 2/1",
			"DropBacking 2: 0D 1D 2T, quorum 2/1",
		}},
		{"two copies to three: the tie-breaker becomes the third", 1, 0, false, changeTo(1, 1, true), []string{
			"MakeBacking 2: 0D 1D 2T, quorum 2/1",
			"GainVote 2: 0D 1D 2d, quorum 2/1",
			"AttachDisk 2: 0D 1D 2D, quorum 2/1",
			"Synchronize 2: 0D 1D 2D, quorum 2/1",
			"RaiseRedundancy: 0D 1D 2D, quorum 2/2",
		}},
		{"two copies to three where the tie-breaker's node holds none: it goes when the third is there", 1, 0, false, changeTo(1, 1, false), []string{
			"PlaceReplica 3: 0D 1D 2T, quorum 2/1",
			"JoinMesh 3: 0D 1D 2T 3A, quorum 2/1",
			"GainVote 2: 0D 1D 2d 3A, quorum 2/1",
			"GainVote 3: 0D 1D 2d 3d, quorum 3/1",
			"AttachDisk 3: 0D 1D 2d 3D, quorum 3/1",
			"Synchronize 3: 0D 1D 2d 3D, quorum 3/1",
			"LoseVote 2: 0D 1D 2A 3D, quorum 2/1",
			"LeaveMesh 2: 0D 1D 3D, quorum 2/1",
			"ReleaseReplica 2: 0D 1D 3D, quorum 2/1",
			"RaiseRedundancy: 0D 1D 3D, quorum 2/2",
		}},
		{"one copy to two: the tie-breaker comes first", 0, 0, false, changeTo(1, 0, true), []string{
			"PlaceReplica 1: 0D, quorum 0/0",
			"JoinMesh 1: 0D 1T, quorum 0/0",
			"PlaceReplica 2: 0D 1T, quorum 0/0",
			"JoinMesh 2: 0D 1T 2A, quorum 0/0",
			"GainVote 1: 0D 1d 2A, quorum 2/1",
			"GainVote 2: 0D 1d 2d, quorum 2/1",
			"AttachDisk 2: 0D 1d 2D, quorum 2/1",
			"Synchronize 2: 0D 1d 2D, quorum 2/1",
			"LoseVote 1: 0D 1T 2D, quorum 2/1",
		}},
		{"the same number of copies, more of them for every write", 1, 2, false, changeTo(2, 1, true), []string{
			"LowerRedundancy: 0D 1D 2D 3D, quorum 3/2",
			"PlaceReplica 4: 0D 1D 2D 3D, quorum 3/2",
			"JoinMesh 4: 0D 1D 2D 3D 4T, quorum 3/2",
		}},
		{"DRBD 8.4: one copy to two", 0, 0, true, changeTo(1, 0, true), []string{
			"PlaceReplica 1: 0D, quorum 0/0",
			"JoinMesh 1: 0D 1D, quorum 0/0",
			"Synchronize 1: 0D 1D, quorum 0/0",
		}},
		{"DRBD 8.4: two copies to one", 0, 1, true, changeTo(0, 0, true), []string{
			"LeaveMesh 1: 0D, quorum 0/0",
			"ReleaseReplica 1: 0D, quorum 0/0",
		}},
		{"DRBD 8.4: the coordinators decide from now on", 0, 1, true, changeTo(1, 0, true), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := layout.Formula(tc.ftt, tc.gmdr)
			if tc.old {
				l, _ = layout.NewDRBD84(tc.ftt, tc.gmdr)
			}
			m := newMesh(t, l, tc.old)
			m.begin(tc.start)
			if waits := m.run(); waits != "" {
				t.Fatalf("waits: %s\nafter %s", waits, strings.Join(m.seen, "\n"))
			}
			if diff := cmp.Diff(tc.want, m.seen); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if m.in.Status.ConfigurationGeneration != 2 {
				t.Error("the configuration was not taken")
			}
		})
	}
}

func TestChangesThatAreCancelled(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		ftt, gmdr int
		old       bool
		start     starter
		until     string // the step in which it is cancelled
		want      string // the mesh at the end; "": it cannot be
		says      string
	}{
		{"a move before the copy joined", 1, 1, false, replace(0), "PlaceReplica 3", "0D 1D 2D, quorum 2/2", ""},
		{"a move before the copy has its vote", 1, 1, false, replace(0), "JoinMesh 3", "0D 1D 2D, quorum 2/2", ""},
		{"a move while the copy is filled", 1, 1, false, replace(0), "Synchronize 3", "0D 1D 2D, quorum 2/2", ""},
		{"a move whose old copy is detached", 1, 1, false, replace(0), "DetachDisk 0", "", "the disk of replica 0 is detached: it can only be finished"},
		{"a removal that has begun", 2, 2, false, changeTo(1, 1, true), "DetachDisk 4", "", "it can only be finished"},
		{"another layout, with new copies", 1, 1, false, changeTo(2, 2, true), "Synchronize 4", "0D 1D 2D, quorum 2/2", ""},
		{"another layout, with a tie-breaker that becomes a copy", 1, 0, false, changeTo(1, 1, true), "Synchronize 2", "0D 1D 2T, quorum 2/1", ""},
		{"another layout, with a tie-breaker whose disk is being made", 1, 0, false, changeTo(1, 1, true), "MakeBacking 2", "0D 1D 2T, quorum 2/1", ""},
		{"a tie-breaker", 1, 1, false, func(in transition.Input) (transition.Outcome, error) {
			return transition.AddTieBreaker(in, model.ReplicaPlace{})
		}, "JoinMesh 3", "0D 1D 2D, quorum 2/2", ""},
		{"DRBD 8.4: the old copy left and comes back", 1, 0, true, replace(1), "LeaveMesh 1", "0D 1D, quorum 0/0", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := layout.Formula(tc.ftt, tc.gmdr)
			if tc.old {
				l, _ = layout.NewDRBD84(tc.ftt, tc.gmdr)
			}
			m := newMesh(t, l, tc.old)
			m.in.Status.Configuration = &model.Configuration{FTT: tc.ftt, GMDR: tc.gmdr}
			m.begin(tc.start)
			for active(m.in.Status) != tc.until {
				out := transition.Next(m.in)
				if !out.Changed() {
					t.Fatalf("waits: %s", out.Wait)
				}
				m.write(out)
			}
			out, err := transition.Cancel(m.in, 0, target(m.in, tc.ftt, tc.gmdr, true), "no more")
			if tc.want == "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Fatalf("got %v, want one that says %q", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			m.write(out)
			if waits := m.run(); waits != "" {
				t.Fatalf("waits: %s", waits)
			}
			if got := m.says(); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			for _, mem := range m.in.Members {
				if _, member := m.in.Status.Datamesh.Member(mem.ID); !member && !mem.Deleting() {
					t.Errorf("replica %d is left behind", mem.ID)
				}
			}
			if cfg := m.in.Status.Configuration; cfg.FTT != tc.ftt || cfg.GMDR != tc.gmdr {
				t.Errorf("the configuration is %+v", cfg)
			}
		})
	}
}

func TestACopyThatIsNotWellGoesFirst(t *testing.T) {
	t.Parallel()
	m := newMesh(t, layout.Formula(1, 1), false)
	m.hold = func(mem *transition.Member) {
		if mem.ID == 1 {
			mem.Resource.Devices[0].Disk = drbd.Diskless
		}
	}
	m.in.Members[2].InUse = true
	m.obey()
	m.begin(changeTo(0, 1, true))
	if waits := m.run(); waits != "" || m.says() != "0D 2D, quorum 2/2" {
		t.Errorf("%s, waits for %q", m.says(), waits)
	}
}

func TestAReplicaChangesItsType(t *testing.T) {
	t.Parallel()
	retype := func(id int, typ model.ReplicaType) starter {
		return func(in transition.Input) (transition.Outcome, error) {
			return transition.Retype(in, id, typ, model.ReplicaPlace{})
		}
	}
	m := newMesh(t, layout.Formula(1, 0), false)
	m.in.Layout = layout.Formula(0, 1)
	m.begin(retype(2, model.Diskful))
	if waits := m.run(); waits != "" || m.says() != "0D 1D 2D, quorum 2/1" || m.in.Members[2].Type != model.Diskful {
		t.Fatalf("%s, waits for %q", m.says(), waits)
	}
	m.begin(retype(0, model.Access))
	if waits := m.run(); waits != "" || m.says() != "0A 1D 2D, quorum 2/1" || m.in.Members[0].Type != model.Access {
		t.Fatalf("%s, waits for %q", m.says(), waits)
	}
	if r := m.in.Members[0].Reservations[0]; r.State != model.Releasing {
		t.Errorf("its disk is %s", r.State)
	}
	m.begin(retype(0, model.TieBreaker))
	if waits := m.run(); waits != "" || m.says() != "0T 1D 2D, quorum 2/1" {
		t.Fatalf("%s, waits for %q", m.says(), waits)
	}
	if _, err := retype(1, model.Access)(m.in); err == nil || !strings.Contains(err.Error(), "wants 2 copies") {
		t.Errorf("got %v", err)
	}
}
