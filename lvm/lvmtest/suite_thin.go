package lvmtest

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/lvm"
)

const suitePool = "tp"

// pool makes a thin pool of size bytes, or of all there is.
func (b *bench) pool(t *testing.T, size int64) {
	t.Helper()
	b.group(t)
	must(t, b.ThinPoolCreate(t.Context(), lvm.LVSpec{VG: suiteVG, Name: suitePool, Size: size, Tags: []string{"rvol.test"}}))
}

func poolOfAll(t *testing.T, b *bench) {
	b.pool(t, lvm.AllFree)
	got := b.lv(t, suitePool)
	want := lvm.LV{
		Name: suitePool, UUID: got.UUID, VG: suiteVG, VGUUID: b.vg(t).UUID, Size: 125 * extentSize, Tags: []string{"rvol.test"},
		Layout: []string{"thin", "pool"}, Roles: []string{"private"}, Active: true,
		Zero: true, MetadataSize: extentSize, WhenFull: "error", Used: 0, MetadataUsed: 1083,
	}
	want.MetadataUsed = got.MetadataUsed // the kernel's own arithmetic
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.MetadataUsed <= 0 || got.MetadataUsed > 2000 {
		t.Errorf("metadata of an empty pool: %s", got.MetadataUsed)
	}
	if free := b.vg(t).FreeExtents; free != 0 {
		t.Errorf("%d extents are free", free)
	}
	again := lvm.LVSpec{VG: suiteVG, Name: suitePool, Size: 4 << 20}
	wantError(t, b.ThinPoolCreate(t.Context(), again), lvm.ErrExists)
	again.Name = "tp2"
	wantError(t, b.ThinPoolCreate(t.Context(), again), lvm.ErrNoSpace)
	again.Size = lvm.AllFree
	wantError(t, b.ThinPoolCreate(t.Context(), again), lvm.ErrNoSpace)
}

func thinVolume(t *testing.T, b *bench) {
	b.pool(t, 96<<20)
	must(t, b.ThinCreate(t.Context(), suitePool, spec(200<<20)))
	got := b.lv(t, suiteLV)
	want := lvm.LV{
		Name: suiteLV, UUID: got.UUID, VG: suiteVG, VGUUID: b.vg(t).UUID, Size: 200 << 20, Tags: suiteTags,
		Layout: []string{"thin", "sparse"}, Roles: []string{"public"}, Path: "/dev/rvoltest/rvol-db.0.1", Active: true,
		Pool: suitePool, PoolUUID: b.lv(t, suitePool).UUID, Zero: true, MetadataUsed: lvm.Unknown,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(b.read(t, got.Path, 1<<20, 64<<10), make([]byte, 64<<10)) {
		t.Error("a new thin volume does not read zeros")
	}
	b.write(t, got.Path, 0, bytes.Repeat([]byte{7}, 30<<20))
	if used := b.lv(t, suiteLV).Used; used != 1500 {
		t.Errorf("30 of 200 MiB written: %s used", used)
	}
	if used := b.lv(t, suitePool).Used; used != 3125 {
		t.Errorf("30 of 96 MiB written: %s of the pool used", used)
	}
	must(t, b.LVExtend(t.Context(), suiteVG, suiteLV, 256<<20))
	must(t, b.LVRemove(t.Context(), suiteVG, suiteLV, got.UUID, suiteTags...))
	if used := b.lv(t, suitePool).Used; used != 0 {
		t.Errorf("after removal: %s of the pool used", used)
	}
}

func thinRefused(t *testing.T, b *bench) {
	b.pool(t, 96<<20)
	wantError(t, b.ThinCreate(t.Context(), "nopool", spec(4<<20)), lvm.ErrNotFound)
	must(t, b.ThinCreate(t.Context(), suitePool, spec(4<<20)))
	wantError(t, b.ThinCreate(t.Context(), suitePool, spec(4<<20)), lvm.ErrExists)
	other := spec(4 << 20)
	other.Name = "rvol-db.0.2"
	wantError(t, b.ThinCreate(t.Context(), suiteLV, other), lvm.ErrBadArgument)
}

func poolFull(t *testing.T, b *bench) {
	b.pool(t, 16<<20)
	must(t, b.ThinCreate(t.Context(), suitePool, spec(64<<20)))
	dev := b.open(t, b.lv(t, suiteLV).Path)
	var err error
	for off := int64(0); off < 64<<20 && err == nil; off += 1 << 20 {
		_, err = dev.WriteAt(make([]byte, 1<<20), off)
	}
	// Through the page cache of a real machine the error comes with the flush.
	if f, ok := dev.(interface{ Sync() error }); ok && err == nil {
		err = f.Sync()
	}
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EIO) {
		t.Errorf("writing more than the pool has: %v", err)
	}
	must(t, dev.Close())
	pool := b.lv(t, suitePool)
	if pool.Used != 10000 || pool.Health != "out_of_data" {
		t.Errorf("the full pool: %+v", pool)
	}
	if err := b.ZeroRange(t.Context(), b.lv(t, suiteLV).Path, 63<<20, 1<<20); err == nil {
		t.Error("zeros found room in a full pool")
	}
	other := spec(4 << 20)
	other.Name = "rvol-db.0.2"
	wantError(t, b.ThinCreate(t.Context(), suitePool, other), lvm.ErrPoolFull)
}
