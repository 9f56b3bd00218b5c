package storage_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"rvol/agent/storage"
	"rvol/lvm"
	"rvol/lvm/lvmtest"
)

// TestWhatCannotBeSeenIsNotGone asks everything of a group that is away.
func TestWhatCannotBeSeenIsNotGone(t *testing.T) {
	tests := []struct {
		name   string
		pool   string
		breaks func(*lvmtest.Machine)
		want   error
	}{
		{"the disk is lost", "", func(m *lvmtest.Machine) { m.LoseDisk("/dev/sdb") }, storage.ErrUnavailable},
		{"the disk of a pool is lost", "tp", func(m *lvmtest.Machine) { m.LoseDisk("/dev/sdb") }, storage.ErrUnavailable},
		{"another group came back under the name", "", func(m *lvmtest.Machine) { m.ReplaceGroup("vg0") }, storage.ErrUnavailable},
		{"the report is cut off", "", func(m *lvmtest.Machine) { m.Garble("fullreport", `{"report": [{"vg": [`) }, lvm.ErrGarbage},
		{"the report is empty", "", func(m *lvmtest.Machine) { m.Garble("fullreport", `{"report": []}`) }, storage.ErrUnavailable},
		{"LVM is not installed", "", func(m *lvmtest.Machine) { m.Uninstall("lvm") }, lvm.ErrToolMissing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, c := machine(t, tt.pool)
			b := storage.NewThick(c)
			if tt.pool != "" {
				b = storage.NewThin(c)
			}
			d, err := b.Create(t.Context(), storage.Spec{Name: db, Size: 4 << 20, Tags: tags})
			if err != nil {
				t.Fatal(err)
			}
			tt.breaks(m)
			before := len(m.Commands())
			id := storage.Identity{Name: db, UUID: d.UUID, Tags: tags}
			for what, err := range map[string]error{
				"space":    second(b.Space(t.Context())),
				"devices":  second(b.Devices(t.Context())),
				"create":   second(b.Create(t.Context(), storage.Spec{Name: db, Size: 4 << 20, Tags: tags})),
				"activate": second(b.Activate(t.Context(), id)),
				"grow":     second(b.Grow(t.Context(), id, 8<<20)),
				"remove":   b.Remove(t.Context(), id),
			} {
				if !errors.Is(err, tt.want) {
					t.Errorf("%s: %v", what, err)
				}
			}
			for _, argv := range m.Commands()[before:] {
				if argv[0] != "lvm" {
					t.Errorf("ran %q", argv)
				}
			}
		})
	}
}

func TestPoolThatIsAnotherIsUnavailable(t *testing.T) {
	_, c := machine(t, "tp")
	c.PoolUUID = c.VGUUID
	if _, err := storage.NewThin(c).Space(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestPartialGroup(t *testing.T) {
	m, c := machine(t, "")
	m.AddDisk("/dev/sdc", diskSize)
	if err := m.ExtendGroup("vg0", "/dev/sdc"); err != nil {
		t.Fatal(err)
	}
	b := storage.NewThick(c)
	healthy, err := b.Create(t.Context(), storage.Spec{Name: db, Size: 4 << 20, Tags: tags})
	if err != nil {
		t.Fatal(err)
	}
	wide := lvm.Name{Volume: "wide"}
	if _, err := b.Create(t.Context(), storage.Spec{Name: wide, Size: 600 << 20, Tags: tags}); err != nil {
		t.Fatal(err)
	}
	m.LoseDisk("/dev/sdc")
	m.PowerOff()

	if s, err := b.Space(t.Context()); err != nil || !s.Partial {
		t.Errorf("space: %+v, %v", s, err)
	}
	list, err := b.Devices(t.Context())
	if err != nil || len(list) != 2 || list[0].Partial || !list[1].Partial {
		t.Errorf("devices: %+v, %v", list, err)
	}
	_, err = b.Create(t.Context(), storage.Spec{Name: lvm.Name{Volume: "new"}, Size: 4 << 20, Tags: tags})
	if !errors.Is(err, lvm.ErrPartial) {
		t.Errorf("create: %v", err)
	}
	_, err = b.Activate(t.Context(), storage.Identity{Name: wide, UUID: list[1].UUID, Tags: tags})
	if !errors.Is(err, lvm.ErrPartial) {
		t.Errorf("activate: %v", err)
	}
	if err := b.Remove(t.Context(), storage.Identity{Name: db, UUID: healthy.UUID, Tags: tags}); err != nil {
		t.Errorf("what is whole can be removed: %v", err)
	}
}

func TestNoRoom(t *testing.T) {
	_, c := machine(t, "")
	b := storage.NewThick(c)
	_, err := b.Create(t.Context(), storage.Spec{Name: db, Size: 1 << 30, Tags: tags})
	if !errors.Is(err, lvm.ErrNoSpace) || !strings.Contains(err.Error(), "256 extents needed, 127 free") {
		t.Errorf("got %v", err)
	}
}

func TestThinPoolThatIsFull(t *testing.T) {
	m, c := machine(t, "tp")
	b := storage.NewThin(c)
	d, err := b.Create(t.Context(), storage.Spec{Name: db, Size: 1 << 30, Tags: tags})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := m.Open(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	for off := int64(0); err == nil; off += 64 << 10 {
		_, err = dev.WriteAt([]byte{1}, off)
	}
	s, err := b.Space(t.Context())
	if err != nil || s.FreeExtents != 0 || s.Pool.Used != 10000 || s.Pool.Health != "out_of_data" || s.Pool.Virtual != 1<<30 {
		t.Errorf("space: %+v, %+v, %v", s, s.Pool, err)
	}
	_, err = b.Create(t.Context(), storage.Spec{Name: lvm.Name{Volume: "web"}, Size: 4 << 20, Tags: tags})
	if !errors.Is(err, lvm.ErrPoolFull) {
		t.Errorf("create: %v", err)
	}
}

// TestGroupThatVanishesDuringRemoval proves nothing of the volume.
func TestGroupThatVanishesDuringRemoval(t *testing.T) {
	m, c := machine(t, "")
	d, err := storage.NewThick(c).Create(t.Context(), storage.Spec{Name: db, Size: 4 << 20, Tags: tags})
	if err != nil {
		t.Fatal(err)
	}
	c.Tool = lvm.New(func(ctx context.Context, argv ...string) ([]byte, error) {
		out, err := m.Run(ctx, argv...)
		if argv[0] == "lvremove" {
			m.LoseDisk("/dev/sdb")
		}
		return out, err
	})
	err = storage.NewThick(c).Remove(t.Context(), storage.Identity{Name: db, UUID: d.UUID, Tags: tags})
	if !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// TestRemovalThatSelectedNothing is what lvremove calls success.
func TestRemovalThatSelectedNothing(t *testing.T) {
	m, c := machine(t, "")
	b := storage.NewThick(c)
	d, err := b.Create(t.Context(), storage.Spec{Name: db, Size: 4 << 20, Tags: tags})
	if err != nil {
		t.Fatal(err)
	}
	m.Garble("lvremove", "  nothing to see here\n")
	err = b.Remove(t.Context(), storage.Identity{Name: db, UUID: d.UUID, Tags: tags})
	if !errors.Is(err, storage.ErrForeign) {
		t.Errorf("got %v", err)
	}
}

func TestRefusalsLeaveTheGroupFree(t *testing.T) {
	m, c := machine(t, "")
	b := storage.NewThick(c)
	m.Fail("lvcreate", 1, 5, "  Something went wrong.\n")
	spec := storage.Spec{Name: db, Size: 4 << 20, Tags: tags}
	if _, err := b.Create(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "Something went wrong.") {
		t.Errorf("got %v", err)
	}
	if _, err := b.Create(t.Context(), spec); err != nil {
		t.Errorf("the next try: %v", err)
	}
}
