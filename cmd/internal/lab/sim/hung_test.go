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
// well, then while every tool of n3 hangs and work waits for it: the slowest operations of
// the others become slower by less than a tenth.
func TestAHungNodeDelaysNobody(t *testing.T) {
	t.Parallel()
	dir, err := tempRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // memory of this test
	log := logTo(t, filepath.Join(t.ArtifactDir(), "hung.log"))
	synctest.Test(t, func(t *testing.T) {
		cl, err := New(Config{Dir: dir, Nodes: 3, Version: "test", Log: log})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cl.Close() }() // what failed before is what counts
		if err := cl.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := NewScripted(cl)
		must(t, s, "lvg create n1 vg0")
		must(t, s, "lvg create n2 vg0")
		must(t, s, "lvg create n3 vg1 --thin-pool tp")
		must(t, s, "class create r2 --ftt 1 --gmdr 0 --type LVM --vg vg0 --trust-zeroed")
		must(t, s, "class create one --ftt 0 --gmdr 0 --type LVMThin --vg vg1 --thin-pool tp")
		well := slowest(t, s, "a", 12)
		for _, tool := range []string{"lvs", "vgs", "lvcreate", "drbdadm", "drbdsetup"} {
			if err := s.Fault("n3", tool, "hang", nil); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			must(t, s, fmt.Sprintf("volume create stuck-%d --size 8MiB --class one", i))
		}
		time.Sleep(10 * time.Second)
		hung := slowest(t, s, "b", 12)
		if err := s.Mend("n3"); err != nil { // a hung tool outlives its agent
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		t.Logf("p99 of the others: %s while all is well, %s while n3 hangs", well, hung)
		if hung > well*11/10 {
			t.Errorf("p99 of operations on other nodes grew from %s to %s, want less than a tenth", well, hung)
		}
	})
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
