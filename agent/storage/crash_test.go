package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"rvol/agent/storage"
	"rvol/lvm"
	"rvol/lvm/lvmtest"
)

var errCrash = errors.New("the agent was killed")

// A moment is when an agent dies: before or after its n-th command takes effect.
type moment struct {
	n     int
	after bool
}

// crashing is a Runner that fails at a moment, and ever after.
type crashing struct {
	m    *lvmtest.Machine
	at   moment
	runs int
}

func (c *crashing) run(ctx context.Context, argv ...string) ([]byte, error) {
	c.runs++
	if c.runs > c.at.n || c.runs == c.at.n && !c.at.after {
		return nil, errCrash
	}
	out, err := c.m.Run(ctx, argv...)
	if c.runs == c.at.n {
		return nil, errCrash
	}
	return out, err
}

// sweep lets the agent die at every moment of do, and hands the machine to
// again, which must bring it to the same end.
func sweep(t *testing.T, pool string, do func(storage.Backend) error, again func(*testing.T, *lvmtest.Machine, storage.Config)) {
	t.Helper()
	backend := func(c storage.Config) storage.Backend {
		if pool != "" {
			return storage.NewThin(c)
		}
		return storage.NewThick(c)
	}
	for n := 1; ; n++ {
		for _, after := range []bool{false, true} {
			m, c := machine(t, pool)
			prepare(t, m)
			dying := &crashing{m: m, at: moment{n, after}}
			first := c
			first.Tool = lvm.New(dying.run)
			err := do(backend(first))
			if dying.runs < n {
				if n < 3 {
					t.Fatalf("only %d commands were run: %v", dying.runs, err)
				}
				return
			}
			c.Locks = storage.NewLocks()
			if err := do(backend(c)); err != nil {
				t.Errorf("killed at %+v, then: %v", dying.at, err)
			}
			again(t, m, c)
		}
	}
}

// prepare leaves the blocks of an earlier owner behind.
func prepare(t *testing.T, m *lvmtest.Machine) {
	t.Helper()
	if err := m.AddForeign("vg0", "old", 12<<20); err != nil {
		return // the pool has everything
	}
	dev, err := m.Open("/dev/vg0/old")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dev.WriteAt(bytes.Repeat([]byte("secret! "), 1<<17), 0); err != nil {
		t.Fatal(err)
	}
	_ = dev.Close()
	r, err := lvm.New(m.Run).Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lv, _ := r.LV("vg0", "old")
	if err := lvm.New(m.Run).LVRemove(t.Context(), "vg0", "old", lv.UUID); err != nil {
		t.Fatal(err)
	}
}

var (
	db   = lvm.Name{Volume: "db", Device: 0, Replica: 1}
	tags = storage.Tags("c1", "r1")
)

func TestCreateAfterACrashAnywhere(t *testing.T) {
	for _, pool := range []string{"", "tp"} {
		do := func(b storage.Backend) error {
			_, err := b.Create(t.Context(), storage.Spec{Name: db, Size: 10 << 20, Tags: tags})
			return err
		}
		sweep(t, pool, do, func(t *testing.T, _ *lvmtest.Machine, c storage.Config) {
			oneDevice(t, c)
		})
	}
}

func TestWipeAfterACrashAnywhere(t *testing.T) {
	for _, wipe := range []storage.Wipe{storage.WipeZero, storage.WipeDiscard} {
		do := func(b storage.Backend) error {
			_, err := b.Create(t.Context(), storage.Spec{Name: db, Size: 10 << 20, Tags: tags, Wipe: wipe})
			return err
		}
		sweep(t, "", do, func(t *testing.T, m *lvmtest.Machine, c storage.Config) {
			d := oneDevice(t, c)
			if len(d.Tags) != 2 {
				t.Errorf("tags: %q", d.Tags)
			}
			if old := readAll(t, m, d.Path); bytes.Contains(old, []byte("secret!")) {
				t.Error("old blocks can be read")
			}
		})
	}
}

func TestCreateAndRemoveAfterACrashAnywhere(t *testing.T) {
	do := func(b storage.Backend) error {
		d, err := b.Create(t.Context(), storage.Spec{Name: db, Size: 10 << 20, Tags: tags})
		if err != nil {
			return err
		}
		return b.Remove(t.Context(), storage.Identity{Name: db, UUID: d.UUID, Tags: tags})
	}
	sweep(t, "", do, func(t *testing.T, _ *lvmtest.Machine, c storage.Config) {
		r, err := c.Tool.Report(t.Context())
		if err != nil || len(r.LVs) != 0 || r.VGs[0].FreeExtents != r.VGs[0].Extents {
			t.Errorf("left: %+v, %v", r.LVs, err)
		}
	})
}

func TestGroupAfterACrashAnywhere(t *testing.T) {
	offer := storage.Offer{Device: "/dev/sdb", VG: "vg0", Pool: "tp", Tags: []string{"rvol.lvg=l1"}}
	for n := 1; n <= 4; n++ {
		for _, after := range []bool{false, true} {
			m := lvmtest.New(1)
			m.AddDisk("/dev/sdb", diskSize)
			dying := &crashing{m: m, at: moment{n, after}}
			_ = storage.MakeGroup(t.Context(), lvm.New(dying.run), storage.NewLocks(), offer)
			if dying.runs < n {
				t.Fatalf("only %d commands were run", dying.runs)
			}
			tool := lvm.New(m.Run)
			if err := storage.MakeGroup(t.Context(), tool, storage.NewLocks(), offer); err != nil {
				t.Errorf("killed at %+v, then: %v", dying.at, err)
			}
			r, err := tool.Report(t.Context())
			if lv, ok := r.LV("vg0", "tp"); err != nil || !ok || !lv.ThinPool() {
				t.Errorf("killed at %+v, then: %+v, %v", dying.at, r, err)
			}
		}
	}
}

func oneDevice(t *testing.T, c storage.Config) storage.Device {
	t.Helper()
	r, err := c.Tool.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := storage.DevicesIn(c, r)
	if err != nil || len(list) != 1 || list[0].Name != db || !list[0].Active {
		t.Fatal(fmt.Sprintf("devices: %+v", list), err)
	}
	return list[0]
}

func readAll(t *testing.T, m *lvmtest.Machine, path string) []byte {
	t.Helper()
	dev, err := m.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, dev.Size())
	if _, err := dev.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	_ = dev.Close()
	return b
}
