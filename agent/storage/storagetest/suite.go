package storagetest

import (
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/agent/storage"
	"rvol/lvm"
)

// A World is an empty volume group, or an empty thin pool in one.
type World struct {
	// Agent makes a backend, as each life of the agent does.
	Agent func() storage.Backend
	// Foreign makes a backend of another cluster in the same group or pool.
	Foreign func() storage.Backend
	// Open holds a device open.
	Open func(path string) (io.Closer, error)
	// Deactivate makes the device node vanish, as a reboot does.
	Deactivate func(t *testing.T, d storage.Device)
}

// Suite runs all behaviours, each in a world of its own.
func Suite(t *testing.T, world func(*testing.T) World) {
	t.Helper()
	behaviours := []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"an empty backend has space and no devices", empty},
		{"a new device is as ordered, and can be opened", created},
		{"creating again returns the same device", createdAgain},
		{"one of many who create a device has created it", createdOnce},
		{"a device with other tags is refused and left alone", createdForeign},
		{"a bad order is refused", badOrders},
		{"a device grows once and never shrinks", grown},
		{"a device that vanished is activated again", activated},
		{"a removed device is gone, and removing again is no error", removed},
		{"a device is removed by UUID and tags only", removedForeign},
		{"an open device is not removed", removedOpen},
		{"the devices of another cluster are foreign space", otherCluster},
	}
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			w := world(t)
			b.run(t, &bench{World: w, Backend: w.Agent()})
		})
	}
}

type bench struct {
	World
	storage.Backend
}

var (
	name = lvm.Name{Volume: "db", Device: 0, Replica: 1}
	tags = storage.Tags("c1", "r1")
)

const (
	size   = 10 << 20 // bytes
	extent = 4 << 20  // bytes
)

func (b *bench) create(t *testing.T) storage.Device {
	t.Helper()
	d, err := b.Create(t.Context(), storage.Spec{Name: name, Size: size, Tags: tags})
	must(t, err)
	return d
}

func identity(d storage.Device) storage.Identity {
	return storage.Identity{Name: d.Name, UUID: d.UUID, Tags: tags}
}

func (b *bench) devices(t *testing.T) []storage.Device {
	t.Helper()
	list, err := b.Devices(t.Context())
	must(t, err)
	return list
}

func (b *bench) space(t *testing.T) storage.Space {
	t.Helper()
	s, err := b.Space(t.Context())
	must(t, err)
	return s
}

func empty(t *testing.T, b *bench) {
	if list := b.devices(t); len(list) != 0 {
		t.Errorf("devices: %v", list)
	}
	s := b.space(t)
	if s.ExtentSize != extent || s.Extents == 0 || s.FreeExtents != s.Extents || s.ForeignExtents != 0 {
		t.Errorf("space: %+v", s)
	}
}

func created(t *testing.T, b *bench) {
	got := b.create(t)
	want := storage.Device{
		Name: name, UUID: got.UUID, Path: got.Path, Size: 12 << 20, Tags: tags,
		Active: true, Used: got.Used, JustCreated: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	dev, err := b.Open(got.Path)
	must(t, err)
	must(t, dev.Close())
}

func createdAgain(t *testing.T, b *bench) {
	first := b.create(t)
	second, err := b.Agent().Create(t.Context(), storage.Spec{Name: name, Size: size, Tags: tags})
	must(t, err)
	first.JustCreated = false
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

func createdOnce(t *testing.T, b *bench) {
	const many = 4
	var wg sync.WaitGroup
	devices, errs := make([]storage.Device, many), make([]error, many)
	for i := range many {
		wg.Go(func() {
			devices[i], errs[i] = b.Create(t.Context(), storage.Spec{Name: name, Size: size, Tags: tags})
		})
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	made := 0
	for _, d := range devices {
		if d.JustCreated {
			made++
		}
		if d.UUID != devices[0].UUID {
			t.Errorf("two devices: %s and %s", d.UUID, devices[0].UUID)
		}
	}
	if made != 1 {
		t.Errorf("%d of %d have created it", made, many)
	}
}

func createdForeign(t *testing.T, b *bench) {
	before := b.create(t)
	_, err := b.Create(t.Context(), storage.Spec{Name: name, Size: size, Tags: storage.Tags("c1", "r2")})
	wantError(t, err, storage.ErrForeign)
	before.JustCreated = false
	if diff := cmp.Diff([]storage.Device{before}, b.devices(t)); diff != "" {
		t.Error(diff)
	}
}

func badOrders(t *testing.T, b *bench) {
	for what, s := range map[string]storage.Spec{
		"no name":        {Size: size, Tags: tags},
		"no size":        {Name: name, Tags: tags},
		"half a sector":  {Name: name, Size: 257, Tags: tags},
		"no tags":        {Name: name, Size: size},
		"a bad tag":      {Name: name, Size: size, Tags: []string{"a b"}},
		"an unknown way": {Name: name, Size: size, Tags: tags, Wipe: "shred"},
	} {
		if _, err := b.Create(t.Context(), s); !errors.Is(err, lvm.ErrBadArgument) {
			t.Errorf("%s: %v", what, err)
		}
	}
	d := b.create(t)
	for what, id := range map[string]storage.Identity{
		"no UUID": {Name: name, Tags: tags},
		"no tags": {Name: name, UUID: d.UUID},
		"no name": {UUID: d.UUID, Tags: tags},
	} {
		if err := b.Remove(t.Context(), id); !errors.Is(err, lvm.ErrBadArgument) {
			t.Errorf("remove with %s: %v", what, err)
		}
	}
	if len(b.devices(t)) != 1 {
		t.Error("a bad order was carried out")
	}
}

func grown(t *testing.T, b *bench) {
	d := b.create(t)
	for range 2 {
		got, err := b.Grow(t.Context(), identity(d), 20<<20)
		must(t, err)
		if got.Size != 20<<20 || got.UUID != d.UUID || got.JustCreated {
			t.Errorf("grown: %+v", got)
		}
	}
	got, err := b.Grow(t.Context(), identity(d), size)
	must(t, err)
	if got.Size != 20<<20 {
		t.Errorf("shrunk to %d", got.Size)
	}
	other := identity(d)
	other.Tags = storage.Tags("c1", "r2")
	_, err = b.Grow(t.Context(), other, 40<<20)
	wantError(t, err, storage.ErrForeign)
	missing := identity(d)
	missing.Name.Volume, missing.UUID = "none", "aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg"
	_, err = b.Grow(t.Context(), missing, 40<<20)
	wantError(t, err, lvm.ErrNotFound)
}

func activated(t *testing.T, b *bench) {
	d := b.create(t)
	b.Deactivate(t, d)
	if list := b.devices(t); list[0].Active {
		t.Fatalf("still active: %+v", list[0])
	}
	for range 2 {
		got, err := b.Activate(t.Context(), identity(d))
		must(t, err)
		if !got.Active {
			t.Errorf("not active: %+v", got)
		}
	}
	b.Deactivate(t, d)
	got, err := b.Create(t.Context(), storage.Spec{Name: name, Size: size, Tags: tags})
	must(t, err)
	if !got.Active || got.JustCreated {
		t.Errorf("created again: %+v", got)
	}
}

func removed(t *testing.T, b *bench) {
	before := b.space(t)
	d := b.create(t)
	for range 2 {
		must(t, b.Remove(t.Context(), identity(d)))
	}
	must(t, b.Agent().Remove(t.Context(), identity(d)))
	if list := b.devices(t); len(list) != 0 {
		t.Errorf("still there: %v", list)
	}
	before.Pool = nil
	after := b.space(t)
	after.Pool = nil
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("space: %s", diff)
	}
}

func removedForeign(t *testing.T, b *bench) {
	d := b.create(t)
	otherUUID, otherTags := identity(d), identity(d)
	otherUUID.UUID = "aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg"
	otherTags.Tags = storage.Tags("c1", "r2")
	renamed := identity(d)
	renamed.Name.Volume = "elsewhere"
	for what, id := range map[string]storage.Identity{
		"another UUID": otherUUID, "other tags": otherTags, "another name": renamed,
	} {
		if err := b.Remove(t.Context(), id); !errors.Is(err, storage.ErrForeign) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(b.devices(t)) != 1 {
		t.Error("it was removed")
	}
}

func removedOpen(t *testing.T, b *bench) {
	d := b.create(t)
	dev, err := b.Open(d.Path)
	must(t, err)
	wantError(t, b.Remove(t.Context(), identity(d)), storage.ErrInUse)
	if list := b.devices(t); len(list) != 1 || !list[0].Open {
		t.Errorf("devices: %+v", list)
	}
	must(t, dev.Close())
	must(t, b.Remove(t.Context(), identity(d)))
}

func otherCluster(t *testing.T, b *bench) {
	other := lvm.Name{Volume: "web", Replica: 2}
	_, err := b.Foreign().Create(t.Context(), storage.Spec{Name: other, Size: size, Tags: storage.Tags("c2", "r1")})
	must(t, err)
	d := b.create(t)
	d.JustCreated = false
	if diff := cmp.Diff([]storage.Device{d}, b.devices(t)); diff != "" {
		t.Error(diff)
	}
	if s := b.space(t); s.ForeignExtents != 3 {
		t.Errorf("space: %+v", s)
	}
	theirs, err := b.Foreign().Devices(t.Context())
	must(t, err)
	if len(theirs) != 1 || theirs[0].Name != other {
		t.Errorf("theirs: %+v", theirs)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}
