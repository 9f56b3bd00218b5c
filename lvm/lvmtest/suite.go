package lvmtest

import (
	"context"
	"errors"
	"io"
	"testing"

	"rvol/lvm"
)

// A World is a machine that the suite can use: simulated, or real.
type World interface {
	// Run fits lvm.Runner.
	Run(ctx context.Context, argv ...string) ([]byte, error)
	// Disk is an empty disk of DiskSize bytes, wiped again after the test.
	Disk(t *testing.T) string
	// Open opens a block device for reading and writing.
	Open(path string) (BlockDevice, error)
}

// A BlockDevice is an open disk or logical volume.
type BlockDevice interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// DiskSize is how large the disks of a World are, in bytes: 127 extents.
const DiskSize = 512 << 20

// Suite runs all behaviours, each in a world of its own.
func Suite(t *testing.T, world func(*testing.T) World) {
	t.Helper()
	behaviours := []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"a volume group is made of an empty disk", groupOfEmptyDisk},
		{"a disk with a signature is refused", diskWithSignature},
		{"a disk or a name that is taken is refused", groupTaken},
		{"a thick volume has name, tags and whole extents", thickVolume},
		{"a thick volume begins with zeros and goes on with old blocks", thickOldBlocks},
		{"a thick volume does not show DRBD metadata of the one before it", thickOldMetadata},
		{"a thick volume is forgotten by zeroing and by discarding", thickWiped},
		{"a volume is refused for name, room and group", volumeRefused},
		{"a volume grows, and growing twice is no error", volumeGrows},
		{"a volume is removed by UUID and tags only", volumeRemoved},
		{"an open volume is neither removed nor deactivated", volumeOpen},
		{"a volume is deactivated and activated", volumeActivated},
		{"a tag is taken off", tagTakenOff},
		{"a thin pool takes all that is free", poolOfAll},
		{"a thin volume reads zeros and takes room as it is written", thinVolume},
		{"a thin volume is refused for pool and name", thinRefused},
		{"a full thin pool refuses writes and new volumes", poolFull},
		{"a missing group is not an empty one", groupMissing},
	}
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			w := world(t)
			b.run(t, &bench{World: w, Tool: lvm.New(w.Run)})
		})
	}
}

// A bench is what a behaviour works with.
type bench struct {
	World
	*lvm.Tool
}

// The names that the behaviours use.
const (
	suiteVG = "rvoltest"
	suiteLV = "rvol-db.0.1"
)

var suiteTags = []string{"rvol.cluster=c1", "rvol.reservation=r1"}

// group makes the volume group on a disk.
func (b *bench) group(t *testing.T) string {
	t.Helper()
	disk := b.Disk(t)
	must(t, b.VGCreate(t.Context(), suiteVG, disk, "rvol.test"))
	return disk
}

// thick makes one thick volume of 12 MiB.
func (b *bench) thick(t *testing.T) lvm.LV {
	t.Helper()
	b.group(t)
	must(t, b.LVCreate(t.Context(), spec(12<<20)))
	return b.lv(t, suiteLV)
}

func spec(size int64) lvm.LVSpec {
	return lvm.LVSpec{VG: suiteVG, Name: suiteLV, Size: size, Tags: suiteTags}
}

func (b *bench) report(t *testing.T) lvm.Report {
	t.Helper()
	r, err := b.Report(t.Context(), suiteVG)
	must(t, err)
	return r
}

func (b *bench) vg(t *testing.T) lvm.VG {
	t.Helper()
	vg, ok := b.report(t).VG(suiteVG)
	if !ok {
		t.Fatalf("%s is not reported", suiteVG)
	}
	return vg
}

func (b *bench) lv(t *testing.T, name string) lvm.LV {
	t.Helper()
	lv, ok := b.report(t).LV(suiteVG, name)
	if !ok {
		t.Fatalf("%s/%s is not reported", suiteVG, name)
	}
	return lv
}

func (b *bench) open(t *testing.T, path string) BlockDevice {
	t.Helper()
	dev, err := b.Open(path)
	must(t, err)
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

func (b *bench) write(t *testing.T, path string, off int64, data []byte) {
	t.Helper()
	dev := b.open(t, path)
	_, err := dev.WriteAt(data, off)
	must(t, err)
	must(t, dev.Close())
}

func (b *bench) read(t *testing.T, path string, off int64, n int) []byte {
	t.Helper()
	dev := b.open(t, path)
	data := make([]byte, n)
	_, err := dev.ReadAt(data, off)
	must(t, err)
	must(t, dev.Close())
	return data
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
