package lvmtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rvol/lvm"
)

// simulated is a World made of a Machine.
type simulated struct{ *Machine }

func (s simulated) Disk(*testing.T) string {
	s.AddDisk("/dev/sdb", DiskSize)
	return "/dev/sdb"
}

func (s simulated) Open(path string) (BlockDevice, error) { return s.Machine.Open(path) }

func TestSuiteOnTheSimulation(t *testing.T) {
	Suite(t, func(*testing.T) World { return simulated{New(1)} })
}

// machine has the volume rvoltest/rvol-db.0.1 on /dev/sdb.
func machine(t *testing.T) (*Machine, *bench) {
	t.Helper()
	m := New(1)
	b := &bench{World: simulated{m}, Tool: lvm.New(m.Run)}
	b.thick(t)
	return m, b
}

func TestSeedDecidesUUIDs(t *testing.T) {
	uuids := func(seed uint64) []string {
		m := New(seed)
		return []string{m.uuid(), m.uuid()}
	}
	if diff := cmp.Diff(uuids(7), uuids(7)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(uuids(7), uuids(8)) {
		t.Error("two seeds give the same UUIDs")
	}
}

func TestPowerLossKeepsAllButActivation(t *testing.T) {
	m, b := machine(t)
	path := b.lv(t, suiteLV).Path
	b.write(t, path, 8192, []byte("kept"))
	dev, err := m.OpenExclusive(path)
	must(t, err)
	m.PowerOff()

	if _, err := dev.ReadAt(make([]byte, 1), 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("a device from before reads: %v", err)
	}
	must(t, dev.Close())
	if _, err := m.Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an inactive volume opens: %v", err)
	}
	must(t, b.VGActivate(t.Context(), suiteVG))
	if got := b.read(t, path, 8192, 4); string(got) != "kept" {
		t.Errorf("read %q", got)
	}
	if n := m.OpenCount(path); n != 0 {
		t.Errorf("open %d times", n)
	}
}

func TestExclusiveOpening(t *testing.T) {
	m, b := machine(t)
	path := b.lv(t, suiteLV).Path
	first, err := m.OpenExclusive(path)
	must(t, err)
	if _, err := m.OpenExclusive(path); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a second owner: %v", err)
	}
	reader, err := m.Open(path)
	must(t, err)
	if n := m.OpenCount(path); n != 2 {
		t.Errorf("open %d times", n)
	}
	for range 2 {
		must(t, first.Close())
	}
	second, err := m.OpenExclusive(path)
	must(t, err)
	must(t, second.Close())
	must(t, reader.Close())
	if n := m.OpenCount(path); n != 0 {
		t.Errorf("open %d times", n)
	}
	if _, err := m.OpenExclusive("/dev/sdb"); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a physical volume has a second owner: %v", err)
	}
}

func TestTransfersEndWithTheDevice(t *testing.T) {
	m, b := machine(t)
	dev, err := m.Open(b.lv(t, suiteLV).Path)
	must(t, err)
	end := dev.Size()
	if n, err := dev.ReadAt(make([]byte, 8), end-4); n != 4 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d, %v", n, err)
	}
	if n, err := dev.WriteAt(make([]byte, 8), end-4); n != 4 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("wrote %d, %v", n, err)
	}
	if _, err := dev.ReadAt(make([]byte, 1), -1); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("before the beginning: %v", err)
	}
	must(t, b.LVExtend(t.Context(), suiteVG, suiteLV, end+extentSize))
	if _, err := dev.WriteAt(make([]byte, 8), end-4); err != nil || dev.Size() != end+extentSize {
		t.Errorf("after growing to %d: %v", dev.Size(), err)
	}
}

func TestBrokenAndLostDisks(t *testing.T) {
	m, b := machine(t)
	dev, err := m.Open(b.lv(t, suiteLV).Path)
	must(t, err)
	write := func() error { _, err := dev.WriteAt([]byte{1}, 0); return err }
	m.BreakDisk("/dev/sdb")
	wantError(t, write(), syscall.EIO)
	b.report(t) // a disk that fails is still seen
	m.MendDisk("/dev/sdb")
	must(t, write())
	m.LoseDisk("/dev/sdb")
	wantError(t, write(), syscall.EIO)
	_, err = b.Report(t.Context(), suiteVG)
	wantError(t, err, lvm.ErrNotFound)
	m.ReturnDisk("/dev/sdb")
	must(t, write())
	b.lv(t, suiteLV)
}

func TestPartialGroup(t *testing.T) {
	m, b := machine(t)
	m.AddDisk("/dev/sdc", DiskSize)
	must(t, m.ExtendGroup(suiteVG, "/dev/sdc"))
	must(t, m.AddForeign(suiteVG, "wide", 600<<20))
	must(t, m.AddForeign(suiteVG, "small", 4<<20))
	m.LoseDisk("/dev/sdc")
	vg := b.vg(t)
	if !vg.Partial || vg.MissingPVs != 1 || vg.Extents != 254 {
		t.Errorf("group: %+v", vg)
	}
	if pv := b.report(t).PVs[1]; !pv.Missing || pv.Name != "[unknown]" {
		t.Errorf("disk: %+v", pv)
	}
	if lv := b.lv(t, "wide"); !lv.Partial || lv.Health != "partial" {
		t.Errorf("wide: %+v", lv)
	}
	wantError(t, b.LVCreate(t.Context(), lvm.LVSpec{VG: suiteVG, Name: "new", Size: 4096}), lvm.ErrPartial)
	wantError(t, b.LVExtend(t.Context(), suiteVG, suiteLV, 64<<20), lvm.ErrPartial)
	wantError(t, b.VGActivate(t.Context(), suiteVG), lvm.ErrPartial)
	must(t, b.LVUntag(t.Context(), suiteVG, suiteLV, suiteTags[0]))
	must(t, b.LVRemove(t.Context(), suiteVG, suiteLV, b.lv(t, suiteLV).UUID))
}

func TestReplacedGroupIsAnother(t *testing.T) {
	m, b := machine(t)
	before := b.vg(t)
	m.ReplaceGroup(suiteVG)
	after := b.vg(t)
	if after.UUID == before.UUID || after.LVCount != 0 || after.FreeExtents != after.Extents {
		t.Errorf("got %+v", after)
	}
}

func TestFaultsOfCommands(t *testing.T) {
	m, b := machine(t)
	m.Fail("lvchange", 2, 5, "  Device or resource is sulking.\n")
	must(t, b.LVActivate(t.Context(), suiteVG, suiteLV))
	err := b.LVDeactivate(t.Context(), suiteVG, suiteLV)
	if e, ok := errors.AsType[*lvm.Error](err); !ok || e.ExitCode != 5 || e.Stderr != "Device or resource is sulking." {
		t.Errorf("got %v", err)
	}
	if !b.lv(t, suiteLV).Active {
		t.Error("a command that failed had an effect")
	}
	must(t, b.LVDeactivate(t.Context(), suiteVG, suiteLV))

	m.Garble("fullreport", "{")
	_, err = b.Report(t.Context())
	wantError(t, err, lvm.ErrGarbage)
	m.Garble("fullreport", "")
	b.report(t)

	m.Uninstall("wipefs")
	_, err = b.Signatures(t.Context(), "/dev/sdb")
	wantError(t, err, lvm.ErrToolMissing)
}

// TestHungCommandLocksItsGroup holds up readers, and works when it is let go.
func TestHungCommandLocksItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b := machine(t)
		m.AddDisk("/dev/sdc", DiskSize)
		must(t, b.VGCreate(t.Context(), "vg1", "/dev/sdc"))
		release := m.Hang("lvextend")

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := b.LVExtend(ctx, suiteVG, suiteLV, 64<<20)
		stuck, ok := errors.AsType[*StuckError](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		if _, err := b.Report(t.Context(), "vg1"); err != nil {
			t.Errorf("another group: %v", err)
		}
		for _, vgs := range [][]string{nil, {suiteVG}} {
			start := time.Now()
			if _, err := b.Report(t.Context(), vgs...); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a report on %q: %v", vgs, err)
			}
			if took := time.Since(start); took != patience {
				t.Errorf("gave up after %s", took)
			}
		}
		waited := make(chan error)
		go func() { _, err := b.Report(t.Context()); waited <- err }()
		synctest.Wait()
		release()
		<-stuck.Done()
		must(t, <-waited)
		if got := b.lv(t, suiteLV).Size; got != 64<<20 {
			t.Errorf("it did not do its work: %d", got)
		}
	})
}

func TestUnknownCommandsAreRefused(t *testing.T) {
	m, _ := machine(t)
	for _, argv := range [][]string{
		{"lvconvert", "--repair", "vg0/tp"},
		{"lvremove", "--force", "force", suiteVG + "/" + suiteLV},
		{"lvremove", "--select", `lv_name="a"`, suiteVG + "/" + suiteLV},
		{"lvcreate", "--type", "raid1", "--size", "4096b", "--name", "a", suiteVG},
		{"lvextend", "--size"},
		{"lvm", "fullreport", "--configreport", "vg", "-o", "vg_colour"},
	} {
		_, err := m.Run(t.Context(), argv...)
		if refused, ok := errors.AsType[*ExitError](err); !ok || refused.ExitCode() != exitBadCommand {
			t.Errorf("%q: %v", argv, err)
		}
	}
	if n := len(m.Commands()); n < 6 {
		t.Errorf("%d commands are remembered", n)
	}
}

// TestExtentsAddUp makes, grows and removes volumes at random.
func TestExtentsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New(1)
		m.AddDisk("/dev/sdb", 64<<20)
		m.AddDisk("/dev/sdc", 40<<20)
		tool, ctx := lvm.New(m.Run), t.Context()
		if err := tool.VGCreate(ctx, "vg0", "/dev/sdb"); err != nil {
			t.Fatal(err)
		}
		if err := m.ExtendGroup("vg0", "/dev/sdc"); err != nil {
			t.Fatal(err)
		}
		name := rapid.SampledFrom([]string{"a", "b", "c"})
		size := rapid.Custom(func(t *rapid.T) int64 { return 512 * rapid.Int64Range(1, 40000).Draw(t, "sectors") })
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				_ = tool.LVCreate(ctx, lvm.LVSpec{VG: "vg0", Name: name.Draw(t, "name"), Size: size.Draw(t, "size")})
			},
			"grow": func(t *rapid.T) { _ = tool.LVExtend(ctx, "vg0", name.Draw(t, "name"), size.Draw(t, "size")) },
			"remove": func(t *rapid.T) {
				r, _ := tool.Report(ctx)
				if lv, ok := r.LV("vg0", name.Draw(t, "name")); ok {
					_ = tool.LVRemove(ctx, "vg0", lv.Name, lv.UUID)
				}
			},
			"": func(t *rapid.T) {
				r, err := tool.Report(ctx)
				if err != nil {
					t.Fatal(err)
				}
				vg := r.VGs[0]
				taken := int64(0)
				for _, lv := range r.LVs {
					taken += lv.Size / vg.ExtentSize
				}
				if taken+vg.FreeExtents != vg.Extents || vg.FreeExtents < 0 {
					t.Fatalf("%d taken, %d free, %d in all", taken, vg.FreeExtents, vg.Extents)
				}
			},
		})
	})
}

// TestContentIsKept writes, reads and forgets at random beside a plain slice.
func TestContentIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const length = 10 * pageSize
		s, want := sparse{}, make([]byte, length)
		span := func(t *rapid.T) (off, n int64) {
			off = rapid.Int64Range(0, length-1).Draw(t, "off")
			return off, rapid.Int64Range(1, length-off).Draw(t, "n")
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				off, n := span(t)
				p := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, int(n))
				s.write(p, off)
				copy(want[off:], p)
			},
			"forget": func(t *rapid.T) {
				first := rapid.Int64Range(0, 9).Draw(t, "first")
				n := rapid.Int64Range(1, 10-first).Draw(t, "pages")
				s.forget(first*pageSize, n*pageSize)
				clear(want[first*pageSize : (first+n)*pageSize])
			},
			"": func(t *rapid.T) {
				got := make([]byte, length)
				s.read(got, 0)
				if !bytes.Equal(got, want) {
					t.Fatal("content differs")
				}
				off, n := span(t)
				rest := slices.Clone(want[off : off+n])
				end := off
				for _, r := range s.written(off, n) {
					if r.Off < end || r.Off+r.Len > off+n {
						t.Fatalf("%v of %d bytes at %d is out of order", r, n, off)
					}
					end = r.Off + r.Len
					clear(rest[r.Off-off : end-off])
				}
				if bytes.Count(rest, []byte{0}) != len(rest) {
					t.Fatal("what was written is not listed")
				}
			},
		})
	})
}
