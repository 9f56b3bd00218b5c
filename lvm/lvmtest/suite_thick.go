package lvmtest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/lvm"
)

func thickVolume(t *testing.T, b *bench) {
	b.group(t)
	must(t, b.LVCreate(t.Context(), spec(10000384)))
	got := b.lv(t, suiteLV)
	want := lvm.LV{
		Name: suiteLV, UUID: got.UUID, VG: suiteVG, VGUUID: b.vg(t).UUID, Size: 12 << 20, Tags: suiteTags,
		Layout: []string{"linear"}, Roles: []string{"public"}, Path: "/dev/rvoltest/rvol-db.0.1", Active: true,
		Used: lvm.Unknown, MetadataUsed: lvm.Unknown,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if free := b.vg(t).FreeExtents; free != 124 {
		t.Errorf("%d extents are free, want 124", free)
	}
}

func thickOldBlocks(t *testing.T, b *bench) {
	lv := b.thick(t)
	secret := bytes.Repeat([]byte("secret! "), 1024)
	b.write(t, lv.Path, 0, secret)
	must(t, b.LVRemove(t.Context(), suiteVG, suiteLV, lv.UUID, suiteTags...))

	must(t, b.LVCreate(t.Context(), spec(12<<20)))
	got := b.read(t, lv.Path, 0, len(secret))
	if !bytes.Equal(got[:pageSize], make([]byte, pageSize)) {
		t.Error("the first 4 KiB are not zeros")
	}
	if !bytes.Equal(got[pageSize:], secret[pageSize:]) {
		t.Error("the blocks of the volume before it are gone")
	}
}

func thickOldMetadata(t *testing.T, b *bench) {
	lv := b.thick(t)
	const end = 12<<20 - 4096
	super := make([]byte, 4096) // as drbdadm create-md of DRBD 8.4 wrote it
	copy(super[15:], "\x04")
	copy(super[40:], "\x36\x63\x0d\xc3\x7a\x37\x44\xb0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x83\x74\x02\x6b"+
		"\x00\x00\x00\x50\xff\xff\xff\xc0\x00\x00\x01\x01\xff\xff\xff\xb8\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x08")
	b.write(t, lv.Path, end, super)
	found, err := b.Signatures(t.Context(), lv.Path)
	must(t, err)
	if len(found) != 1 || found[0].Type != "drbd" {
		t.Fatalf("signatures: %v", found)
	}
	must(t, b.LVRemove(t.Context(), suiteVG, suiteLV, lv.UUID, suiteTags...))

	must(t, b.LVCreate(t.Context(), spec(12<<20)))
	found, err = b.Signatures(t.Context(), lv.Path)
	must(t, err)
	if len(found) != 0 {
		t.Errorf("signatures of a new volume: %v", found)
	}
	if bytes.Equal(b.read(t, lv.Path, end+0x3c, 4), super[0x3c:0x40]) {
		t.Error("DRBD would find old metadata")
	}
}

func thickWiped(t *testing.T, b *bench) {
	lv := b.thick(t)
	old := bytes.Repeat([]byte{7}, 64<<10)
	zeros := make([]byte, len(old))
	for _, off := range []int64{0, 11 << 20} {
		b.write(t, lv.Path, off, old)
	}
	must(t, b.ZeroOut(t.Context(), lv.Path))
	for _, off := range []int64{0, 11 << 20} {
		if !bytes.Equal(b.read(t, lv.Path, off, len(old)), zeros) {
			t.Errorf("old blocks at %d after zeroing", off)
		}
	}
	if err := b.Discard(t.Context(), lv.Path); err != nil {
		wantError(t, err, lvm.ErrUnsupported)
	}
	wantError(t, b.Discard(t.Context(), "/dev/rvoltest/nosuch"), lvm.ErrNotFound)
	wantError(t, b.ZeroOut(t.Context(), "/dev/rvoltest/nosuch"), lvm.ErrNotFound)
}

func volumeRefused(t *testing.T, b *bench) {
	b.thick(t)
	wantError(t, b.LVCreate(t.Context(), spec(4<<20)), lvm.ErrExists)

	large := spec(10 << 30)
	large.Name = "rvol-db.0.2"
	err := b.LVCreate(t.Context(), large)
	wantError(t, err, lvm.ErrNoSpace)
	if e, ok := errors.AsType[*lvm.Error](err); !ok || e.Needed != 2560 || e.Free != 124 {
		t.Errorf("numbers of the refusal: %v", err)
	}
	elsewhere := spec(4 << 20)
	elsewhere.VG = "rvolnone"
	wantError(t, b.LVCreate(t.Context(), elsewhere), lvm.ErrNotFound)

	huge := spec(1 << 60)
	huge.Name = "rvol-db.0.3"
	wantError(t, b.LVCreate(t.Context(), huge), lvm.ErrBadArgument)
}

func volumeGrows(t *testing.T, b *bench) {
	before := b.thick(t)
	for range 2 {
		must(t, b.LVExtend(t.Context(), suiteVG, suiteLV, 20000256))
	}
	after := b.lv(t, suiteLV)
	if after.Size != 20<<20 || after.UUID != before.UUID {
		t.Errorf("after growing: %+v", after)
	}
	wantError(t, b.LVExtend(t.Context(), suiteVG, suiteLV, 4<<20), lvm.ErrNotLarger)
	err := b.LVExtend(t.Context(), suiteVG, suiteLV, 10<<30)
	wantError(t, err, lvm.ErrNoSpace)
	if e, ok := errors.AsType[*lvm.Error](err); !ok || e.Needed != 2555 || e.Free != 122 {
		t.Errorf("numbers of the refusal: %v", err)
	}
	wantError(t, b.LVExtend(t.Context(), suiteVG, "rvol-none.0.0", 20<<20), lvm.ErrNotFound)
	wantError(t, b.LVExtend(t.Context(), "rvolnone", suiteLV, 20<<20), lvm.ErrNotFound)
}

func volumeRemoved(t *testing.T, b *bench) {
	lv := b.thick(t)
	const otherUUID = "aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg"
	must(t, b.LVRemove(t.Context(), suiteVG, suiteLV, otherUUID, suiteTags...))
	must(t, b.LVRemove(t.Context(), suiteVG, suiteLV, lv.UUID, "rvol.cluster=c1", "rvol.reservation=r2"))
	now := b.lv(t, suiteLV)
	lv.Open = now.Open // udev looks into a new device for a moment
	if diff := cmp.Diff(lv, now); diff != "" {
		t.Errorf("a volume that was not meant has changed: %s", diff)
	}
	must(t, b.LVRemove(t.Context(), suiteVG, suiteLV, lv.UUID, suiteTags...))
	if r := b.report(t); len(r.LVs) != 0 || r.VGs[0].FreeExtents != 127 {
		t.Errorf("after removal: %+v", r)
	}
	err := b.LVRemove(t.Context(), suiteVG, suiteLV, lv.UUID, suiteTags...)
	wantError(t, err, lvm.ErrNotFound)
}

func volumeOpen(t *testing.T, b *bench) {
	lv := b.thick(t)
	dev := b.open(t, lv.Path)
	if !b.lv(t, suiteLV).Open {
		t.Error("an open volume is not reported as open")
	}
	wantError(t, b.LVRemove(t.Context(), suiteVG, suiteLV, lv.UUID, suiteTags...), lvm.ErrInUse)
	wantError(t, b.LVDeactivate(t.Context(), suiteVG, suiteLV), lvm.ErrInUse)
	must(t, dev.Close())
	// udev looks at a device that was open for writing, and holds it a moment.
	for tries := 0; b.lv(t, suiteLV).Open; tries++ {
		if tries == 100 {
			t.Fatal("a closed volume is reported as open")
		}
	}
}

func volumeActivated(t *testing.T, b *bench) {
	lv := b.thick(t)
	must(t, b.LVDeactivate(t.Context(), suiteVG, suiteLV))
	if got := b.lv(t, suiteLV); got.Active || got.Open {
		t.Errorf("after deactivation: %+v", got)
	}
	if dev, err := b.Open(lv.Path); err == nil {
		_ = dev.Close()
		t.Error("an inactive volume can be opened")
	}
	for range 2 {
		must(t, b.LVActivate(t.Context(), suiteVG, suiteLV))
	}
	must(t, b.LVDeactivate(t.Context(), suiteVG, suiteLV))
	for range 2 {
		must(t, b.VGActivate(t.Context(), suiteVG))
	}
	if !b.lv(t, suiteLV).Active {
		t.Error("the volume is not active after its group was activated")
	}
	wantError(t, b.LVActivate(t.Context(), suiteVG, "rvol-none.0.0"), lvm.ErrNotFound)
}

func tagTakenOff(t *testing.T, b *bench) {
	b.thick(t)
	must(t, b.LVUntag(t.Context(), suiteVG, suiteLV, suiteTags[0]))
	if diff := cmp.Diff(suiteTags[1:], b.lv(t, suiteLV).Tags); diff != "" {
		t.Error(diff)
	}
}
