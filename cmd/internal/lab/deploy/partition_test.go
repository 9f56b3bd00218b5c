//go:build kernellab

package deploy_test

import (
	"context"
	"testing"
	"time"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/deploy/deploytest"
)

// TestTwoPrimariesNeverBothAcknowledgeAWrite parts a node that writes from the others in the ways that DRBD 8.4 needs an arbiter for.
// What it acknowledges is told over a line that no partition cuts.
func TestTwoPrimariesNeverBothAcknowledgeAWrite(t *testing.T) {
	t.Parallel()
	f := &failover{T: t, Cluster: deploytest.Up(t, bin, 3), volume: "db-1", last: -1}
	f.rvol("lvg create n1 vg1 --thin-pool tp --wait")
	f.rvol("lvg create n2 vg1 --thin-pool tp --wait")
	f.rvol("class create r2 --ftt 1 --gmdr 0 --type LVMThin --vg vg1 --thin-pool tp --drbd resync-rate=100M")
	f.rvol("volume create db-1 --size 64MiB --class r2 --wait")
	f.rvol("cluster transfer-leadership n3") // whoever leads must reach both
	f.eventually(`LEADER +n3`, "cluster status")
	f.rvol("volume attach db-1 n1 --wait")
	f.loseEachOther()
	f.isolated()
	f.rvol("volume detach db-1 n2 --wait")
	f.rvol("volume delete db-1 --yes --wait")
}

func (f *failover) disturb(fault lab.Fault) {
	f.Helper()
	if err := f.World.Disturb(f.Context(), fault); err != nil {
		f.Fatal(err)
	}
}

func (f *failover) heal() {
	f.Helper()
	if err := f.World.Heal(f.Context()); err != nil {
		f.Fatal(err)
	}
}

// loseEachOther cuts the link of the two copies: n1 goes on, n2 may not, and has all of it afterwards.
func (f *failover) loseEachOther() {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	w := f.write(ctx, "n1")
	w.reaches(f.T, f.last+20)
	f.disturb(lab.Fault{A: "n1", B: "n2", Cut: true})
	f.eventually(`db-1 +degraded`, "volume list")
	before, _ := w.reached()
	w.reaches(f.T, before+50) // it was let go on alone
	f.refused("volume attach db-1 n2")
	f.heal()
	f.eventually(`db-1 +ready`, "volume list")
	w.reaches(f.T, before+100)
	cancel()
	f.last = w.end()
	f.stopWriting("n1")
	f.check("n1")
	f.Logf("n1 went on alone from block %d, and acknowledged %d", before, f.last)
}

// isolated cuts n1 from everybody: it acknowledges nothing more, whatever comes, and n2 has all that it did.
func (f *failover) isolated() {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	w := f.write(ctx, "n1")
	w.reaches(f.T, f.last+20)
	f.disturb(lab.Fault{A: "n1", Cut: true})
	f.refused("volume attach db-1 n2")
	f.rvol("node fence n1 --yes-i-mean n1")
	f.rvol("volume attach db-1 n2 --wait")
	f.last, _ = w.reached()
	frozen := f.last
	f.check("n2")

	other, stop := context.WithCancel(f.Context())
	defer stop()
	w2 := f.write(other, "n2")
	w2.reaches(f.T, f.last+50)
	f.heal()
	w2.reaches(f.T, f.last+100)
	time.Sleep(10 * time.Second) // long enough for n1 to be told something
	if last, _ := w.reached(); last != frozen {
		f.Errorf("n1 acknowledged block %d after n2 had taken over at block %d", last, frozen)
	}
	if err := f.World.Kill(f.Context(), "n1"); err != nil { // what waits there can end no other way
		f.Fatal(err)
	}
	if err := f.World.Start(f.Context(), "n1"); err != nil {
		f.Fatal(err)
	}
	f.eventually(`db-1 +ready`, "volume list")
	stop()
	f.last = w2.end()
	f.stopWriting("n2")
	f.check("n2")
	f.Logf("n1 was frozen at block %d; n2 acknowledged up to %d", frozen, f.last)
}

// refused wants that a command is not carried out.
func (f *failover) refused(line string) {
	f.Helper()
	if out, code := f.run(line); code == 0 {
		f.Fatalf("rvol %s: succeeded, want a refusal\n%s", line, out)
	}
}
