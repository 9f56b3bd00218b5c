package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestAHungNodeDelaysNobody makes, uses and deletes volumes on n1 and n2, first while all is
// well, then while n4 hangs in one way or another and work waits for it: the slowest
// operations of the others become slower by less than a tenth.
func TestAHungNodeDelaysNobody(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		hang func(s *Scripted) error
	}{
		{"its tools hang", func(s *Scripted) error {
			for _, tool := range []string{"lvs", "vgs", "fullreport", "lvcreate", "drbdadm", "drbdsetup"} {
				if err := s.Fault("n4", tool, "hang", nil); err != nil {
					return err
				}
			}
			return nil
		}},
		{"it hears nothing", func(s *Scripted) error {
			for _, o := range []string{"n1", "n2", "n3"} {
				s.CutControl(o, "n4", true)
			}
			return nil
		}},
		{"nobody hears it", func(s *Scripted) error {
			for _, o := range []string{"n1", "n2", "n3"} {
				s.CutControl("n4", o, true)
			}
			return nil
		}},
		{"it has no power", func(s *Scripted) error { return s.Kill("n4") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir, err := tempRoot()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = os.RemoveAll(dir) }() // memory of this test
			log := logTo(t, filepath.Join(t.ArtifactDir(), "hung.log"))
			synctest.Test(t, func(t *testing.T) {
				cl, err := New(Config{Dir: dir, Nodes: 4, Version: "test", Log: log})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = cl.Close() }() // what failed before is what counts
				if err := cl.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				beside(t, NewScripted(cl), tc.hang)
			})
		})
	}
}

// beside measures the others before and after n4 hangs.
func beside(t *testing.T, s *Scripted, hang func(s *Scripted) error) {
	t.Helper()
	must(t, s, "lvg create n1 vg0")
	must(t, s, "lvg create n2 vg0")
	must(t, s, "lvg create n4 vg1 --thin-pool tp")
	must(t, s, "class create r2 --ftt 1 --gmdr 0 --type LVM --vg vg0 --trust-zeroed")
	must(t, s, "class create one --ftt 0 --gmdr 0 --type LVMThin --vg vg1 --thin-pool tp")
	well := slowest(t, s, "a", 12)
	for i := range 5 { // what waits for the node
		must(t, s, fmt.Sprintf("volume create stuck-%d --size 8MiB --class one", i))
	}
	if err := hang(s); err != nil {
		t.Fatal(err)
	}
	hung := slowest(t, s, "b", 12) // from the first moment on, before anybody knows
	if later := slowest(t, s, "c", 12); later > hung {
		hung = later
	}
	if err := s.Mend("n4"); err != nil { // a hung tool outlives its agent
		t.Fatal(err)
	}
	s.Cluster.Heal()
	time.Sleep(time.Minute)
	t.Logf("p99 of the others: %s while all is well, %s while n4 hangs", well, hung)
	if hung > well*11/10 {
		t.Errorf("p99 of operations on other nodes grew from %s to %s, want less than a tenth", well, hung)
	}
}

// slowest is the 99th percentile of operations on n1 and n2 with so many volumes, in cluster time.
func slowest(t *testing.T, s *Scripted, prefix string, volumes int) time.Duration {
	t.Helper()
	var took []time.Duration
	timed := func(line string) {
		begun := time.Now()
		must(t, s, line)
		took = append(took, time.Since(begun))
	}
	for i := range volumes {
		vol := fmt.Sprintf("%s-%d", prefix, i)
		timed("volume create " + vol + " --size 8MiB --class r2 --wait")
		timed("volume attach " + vol + " n1 --wait")
		timed("volume detach " + vol + " n1 --wait")
		timed("volume delete " + vol + " --yes --wait")
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}
