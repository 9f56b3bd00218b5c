package lvmtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/lvm"
)

func groupOfEmptyDisk(t *testing.T, b *bench) {
	disk := b.Disk(t)
	found, err := b.Signatures(t.Context(), disk)
	must(t, err)
	if len(found) != 0 {
		t.Fatalf("the disk is not empty: %v", found)
	}
	must(t, b.VGCreate(t.Context(), suiteVG, disk, "rvol.test"))

	got := b.vg(t)
	want := lvm.VG{
		Name: suiteVG, UUID: got.UUID, Size: 127 * extentSize, Free: 127 * extentSize,
		ExtentSize: extentSize, Extents: 127, FreeExtents: 127,
		Writable: true, PVCount: 1, Tags: []string{"rvol.test"}, SeqNo: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	pvs := b.report(t).PVs
	wantPVs := []lvm.PV{{
		Name: disk, UUID: pvs[0].UUID, VG: suiteVG,
		Size: 127 * extentSize, Free: 127 * extentSize, DeviceSize: DiskSize,
	}}
	if diff := cmp.Diff(wantPVs, pvs); diff != "" {
		t.Error(diff)
	}
	found, err = b.Signatures(t.Context(), disk)
	must(t, err)
	if len(found) != 1 || found[0].Type != "LVM2_member" {
		t.Errorf("signatures of a physical volume: %v", found)
	}
}

func diskWithSignature(t *testing.T, b *bench) {
	disk := b.Disk(t)
	// The superblock of an ext4 file system, as far as blkid looks at it.
	super := make([]byte, 1024)
	super[0x38], super[0x39] = 0x53, 0xef
	super[0x4c] = 1    // s_rev_level: dynamic
	super[0x60] = 0x40 // s_feature_incompat: extents
	super[0x5c] = 0x04 // s_feature_compat: journal
	super[0x18] = 2    // s_log_block_size
	b.write(t, disk, 1024, super)

	found, err := b.Signatures(t.Context(), disk)
	must(t, err)
	if len(found) != 1 || found[0].Type != "ext4" || found[0].Offset != "0x438" {
		t.Fatalf("signatures: %v", found)
	}
	wantError(t, b.VGCreate(t.Context(), suiteVG, disk), lvm.ErrSignature)
	_, err = b.Report(t.Context(), suiteVG)
	wantError(t, err, lvm.ErrNotFound)
}

func groupTaken(t *testing.T, b *bench) {
	disk := b.group(t)
	wantError(t, b.VGCreate(t.Context(), suiteVG, disk), lvm.ErrExists)
	wantError(t, b.VGCreate(t.Context(), "rvolother", disk), lvm.ErrInUse)
	wantError(t, b.VGCreate(t.Context(), "rvolother", "/dev/nosuchdisk"), lvm.ErrNotFound)
}

func groupMissing(t *testing.T, b *bench) {
	_, err := b.Report(t.Context(), "rvolnone")
	wantError(t, err, lvm.ErrNotFound)
	wantError(t, b.VGActivate(t.Context(), "rvolnone"), lvm.ErrNotFound)
	_, err = b.Signatures(t.Context(), "/dev/nosuchdisk")
	wantError(t, err, lvm.ErrNotFound)
}
