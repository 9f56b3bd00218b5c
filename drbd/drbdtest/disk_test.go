package drbdtest

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rvol/drbd"
)

func TestSparseIsADisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 5 * pageSize
		d, model := NewSparse(size), make([]byte, size)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				off, data := drawRange(t, size)
				for i := range data {
					data[i] = byte(rng.IntN(3))
				}
				if _, err := d.WriteAt(data, off); err != nil {
					t.Fatal(err)
				}
				copy(model[off:], data)
			},
			"discard": func(t *rapid.T) {
				off, data := drawRange(t, size)
				if err := d.Discard(off, int64(len(data))); err != nil {
					t.Fatal(err)
				}
				clear(model[off : off+int64(len(data))])
			},
			"": func(t *rapid.T) {
				got := make([]byte, size)
				if _, err := d.ReadAt(got, 0); err != nil || !bytes.Equal(got, model) {
					t.Fatalf("reads otherwise: %v", err)
				}
				rest := bytes.Clone(model)
				for _, e := range d.Data(0, size) {
					clear(rest[e.Off:e.End()])
				}
				if bytes.ContainsFunc(rest, func(r rune) bool { return r != 0 }) {
					t.Fatal("data outside what Data lists")
				}
			},
		})
	})
}

func drawRange(t *rapid.T, size int64) (off int64, data []byte) {
	off = rapid.Int64Range(0, size).Draw(t, "off")
	return off, make([]byte, rapid.Int64Range(0, size-off).Draw(t, "len"))
}

func TestSparseRefuses(t *testing.T) {
	d := NewSparse(pageSize)
	for _, off := range []int64{-1, 1} {
		if _, err := d.WriteAt(make([]byte, pageSize), off); err == nil {
			t.Errorf("written at %d", off)
		}
		if _, err := d.ReadAt(make([]byte, pageSize), off); err == nil {
			t.Errorf("read at %d", off)
		}
	}
	broken := errors.New("broken")
	d.Fail(broken)
	if _, err := d.ReadAt(make([]byte, 1), 0); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestMemoryCountsOpens(t *testing.T) {
	m := NewMemory()
	if _, err := m.Open("/dev/vg0/r0"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	m.Create("/dev/vg0/r0", pageSize)
	d, err := m.Open("/dev/vg0/r0")
	if err != nil || m.Disk("/dev/vg0/r0").Opens() != 1 {
		t.Fatalf("opens %d, %v", m.Disk("/dev/vg0/r0").Opens(), err)
	}
	if err := d.Close(); err != nil || m.Disk("/dev/vg0/r0").Opens() != 0 {
		t.Errorf("opens %d, %v", m.Disk("/dev/vg0/r0").Opens(), err)
	}
	m.Remove("/dev/vg0/r0")
	if m.Disk("/dev/vg0/r0") != nil {
		t.Error("still there")
	}
}

func TestExtentsAreASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 40
		var s extents
		var model [size]bool
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				off, data := drawRange(t, size)
				s = s.add(Extent{Off: off, Len: int64(len(data))})
				fill(model[off:off+int64(len(data))], true)
			},
			"remove": func(t *rapid.T) {
				off, data := drawRange(t, size)
				s = s.remove(Extent{Off: off, Len: int64(len(data))})
				fill(model[off:off+int64(len(data))], false)
			},
			"": func(t *rapid.T) {
				var got [size]bool
				last := int64(-1)
				for _, e := range s {
					if e.Off <= last || e.Len <= 0 {
						t.Fatalf("out of order or touching: %v", s)
					}
					last = e.End()
					fill(got[e.Off:e.End()], true)
				}
				if got != model {
					t.Fatalf("got %v, want %v", got, model)
				}
				n := rapid.Int64Range(0, size).Draw(t, "n")
				if first := s.first(n); first.bytes() != min(n, s.bytes()) {
					t.Fatalf("first %d of %v: %v", n, s, first)
				}
			},
		})
	})
}

func fill(s []bool, v bool) {
	for i := range s {
		s[i] = v
	}
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct{ in, touched, covered Extent }{
		{Extent{0, 4096}, Extent{0, 4096}, Extent{0, 4096}},
		{Extent{1, 4096}, Extent{0, 8192}, Extent{4096, 0}},
		{Extent{4095, 8194}, Extent{0, 16384}, Extent{4096, 8192}},
		{Extent{10, 10}, Extent{0, 4096}, Extent{4096, 0}},
	} {
		if diff := cmp.Diff([]Extent{c.touched, c.covered}, []Extent{blocks(c.in), wholeBlocks(c.in)}); diff != "" {
			t.Errorf("%v: %s", c.in, diff)
		}
	}
}

func TestMetadataLiesOnTheDisk(t *testing.T) {
	const size = 1 << 20
	d := NewSparse(size)
	if _, err := loadMetadata(d, size); !errors.Is(err, errNoMetadata) {
		t.Errorf("got %v", err)
	}
	want := freshMetadata("v09", 7)
	want.Size, want.State = want.usable(size), drbd.UpToDate
	want.peer(3).OutOfSync = extents{{Off: 8192, Len: 4096}}
	if err := want.save(d, size); err != nil {
		t.Fatal(err)
	}
	got, err := loadMetadata(d, size)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, e := range d.Data(0, size) {
		if e.Off < want.Size {
			t.Errorf("metadata at %d, where data should be", e.Off)
		}
	}
	if _, err := loadMetadata(d, size-pageSize); !errors.Is(err, errNoMetadata) {
		t.Errorf("elsewhere: got %v", err)
	}
}

func TestMetadataOfManyDirtyBlocksIsKeptCoarsely(t *testing.T) {
	const size = 64 << 20
	d, md := NewSparse(size), freshMetadata("v08", 1)
	md.Size = md.usable(size)
	slot := md.peer(0)
	slot.OutOfSync = nil
	for off := int64(0); off < md.Size; off += 2 * pageSize {
		slot.OutOfSync = append(slot.OutOfSync, Extent{Off: off, Len: pageSize})
	}
	dirty := slot.OutOfSync
	if err := md.save(d, size); err != nil {
		t.Fatal(err)
	}
	got, err := loadMetadata(d, size)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range dirty {
		if got.Peers[0].OutOfSync.remove(e).bytes() == got.Peers[0].OutOfSync.bytes() {
			t.Fatalf("%v is not marked any more", e)
		}
	}
}
