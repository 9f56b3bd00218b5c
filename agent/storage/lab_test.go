//go:build lab

package storage_test

import (
	"context"
	"flag"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"rvol/agent/host"
	"rvol/agent/storage"
	"rvol/agent/storage/storagetest"
	"rvol/lvm"
)

// Run in a node of the kernel lab, as root, with an empty disk of 512 MiB:
//
//	go test -c -tags lab ./agent/storage && storage.test -test.run OnThisMachine -disk /dev/ubdc
var labDisk = flag.String("disk", "", "an empty disk that may be overwritten")

func labWorld(t *testing.T, pool string, backend func(storage.Config) storage.Backend) storagetest.World {
	t.Helper()
	const vg = "rvoltest"
	clean := func() {
		_ = exec.CommandContext(context.Background(), "vgremove", "--force", "--force", "--yes", vg).Run()
		if out, err := exec.CommandContext(context.Background(), "wipefs", "--all", *labDisk).CombinedOutput(); err != nil {
			t.Fatalf("wipe %s: %v: %s", *labDisk, err, out)
		}
	}
	clean()
	t.Cleanup(clean)
	h := host.New(host.Config{Changes: host.NewUnits("/run/rvol-test")})
	tool := lvm.New(h.Run)
	offer := storage.Offer{Device: *labDisk, VG: vg, Pool: pool, Tags: []string{"rvol.lvg=l1"}}
	if err := storage.MakeGroup(t.Context(), tool, storage.NewLocks(), offer); err != nil {
		t.Fatal(err)
	}
	r, err := tool.Report(t.Context(), vg)
	if err != nil {
		t.Fatal(err)
	}
	lv, _ := r.LV(vg, pool)
	c := storage.Config{Tool: tool, Locks: storage.NewLocks(), Cluster: "c1", VG: vg, VGUUID: r.VGs[0].UUID, Pool: pool, PoolUUID: lv.UUID}
	return storagetest.World{
		Agent: func() storage.Backend { return backend(c) },
		Foreign: func() storage.Backend {
			c := c
			c.Cluster = "c2"
			return backend(c)
		},
		Open: func(path string) (io.Closer, error) { return os.Open(path) },
		Deactivate: func(t *testing.T, d storage.Device) {
			t.Helper()
			if err := tool.LVDeactivate(context.Background(), vg, d.Name.String()); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestThickOnThisMachine(t *testing.T) {
	start := time.Now()
	storagetest.Suite(t, func(t *testing.T) storagetest.World { return labWorld(t, "", storage.NewThick) })
	t.Logf("took %s", time.Since(start))
}

func TestThinOnThisMachine(t *testing.T) {
	storagetest.Suite(t, func(t *testing.T) storagetest.World { return labWorld(t, "tp", storage.NewThin) })
}
