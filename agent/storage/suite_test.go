package storage_test

import (
	"context"
	"io"
	"testing"

	"rvol/agent/storage"
	"rvol/agent/storage/storagetest"
	"rvol/lvm"
	"rvol/lvm/lvmtest"
)

const diskSize = 512 << 20 // bytes: 127 extents

// machine is a simulated machine with one disk, made into a group with a pool
// if one is named.
func machine(t *testing.T, pool string) (*lvmtest.Machine, storage.Config) {
	t.Helper()
	m := lvmtest.New(1)
	m.AddDisk("/dev/sdb", diskSize)
	tool := lvm.New(m.Run)
	offer := storage.Offer{Device: "/dev/sdb", VG: "vg0", Pool: pool, Tags: []string{"rvol.lvg=l1"}}
	if err := storage.MakeGroup(t.Context(), tool, storage.NewLocks(), offer); err != nil {
		t.Fatal(err)
	}
	return m, config(t, m, pool)
}

func config(t *testing.T, m *lvmtest.Machine, pool string) storage.Config {
	t.Helper()
	tool := lvm.New(m.Run)
	r, err := tool.Report(t.Context(), "vg0")
	if err != nil {
		t.Fatal(err)
	}
	c := storage.Config{Tool: tool, Locks: storage.NewLocks(), Cluster: "c1", VG: "vg0", VGUUID: r.VGs[0].UUID}
	if pool != "" {
		lv, _ := r.LV("vg0", pool)
		c.Pool, c.PoolUUID = pool, lv.UUID
	}
	return c
}

func world(t *testing.T, pool string, backend func(storage.Config) storage.Backend) storagetest.World {
	t.Helper()
	m, c := machine(t, pool)
	return storagetest.World{
		Agent: func() storage.Backend {
			c.Locks = storage.NewLocks()
			return backend(c)
		},
		Foreign: func() storage.Backend {
			c := c
			c.Cluster = "c2"
			return backend(c)
		},
		Open: func(path string) (io.Closer, error) { return m.Open(path) },
		Deactivate: func(t *testing.T, d storage.Device) {
			t.Helper()
			if err := c.Tool.LVDeactivate(context.Background(), "vg0", d.Name.String()); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestThick(t *testing.T) {
	storagetest.Suite(t, func(t *testing.T) storagetest.World { return world(t, "", storage.NewThick) })
}

func TestThin(t *testing.T) {
	storagetest.Suite(t, func(t *testing.T) storagetest.World { return world(t, "tp", storage.NewThin) })
}
