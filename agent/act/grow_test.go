package act_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"rvol/agent/decide"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
	"rvol/lvm"
)

const (
	larger    = 32 * mib
	grownSize = 36 * mib // of the LV: whole extents
)

// litter leaves on the free extents of vg0 what an earlier volume of just the new size
// would have left: metadata that looks valid.
func (n *node) litter() {
	n.t.Helper()
	tool := lvm.New(n.LVM.Run)
	if err := n.LVM.AddForeign("vg0", "old", 64*mib); err != nil {
		n.t.Fatal(err)
	}
	d, err := n.LVM.Open("/dev/vg0/old")
	if err != nil {
		n.t.Fatal(err)
	}
	text := `{"Format":"v08","Slots":1,"Current":1311768467463790320,"Size":4096}`
	if n.DRBD.Version() == drbdtest.V9 {
		text = `{"Format":"v09","Slots":7,"Current":1311768467463790320,"Size":4096}`
	}
	head := make([]byte, 4096)
	copy(head, "drbdtest")
	binary.BigEndian.PutUint64(head[8:], grownSize-8192)
	binary.BigEndian.PutUint64(head[16:], uint64(len(text)))
	for off, b := range map[int64][]byte{grownSize - 8192: []byte(text), grownSize - 4096: head} {
		if _, err := d.WriteAt(b, off); err != nil {
			n.t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		n.t.Fatal(err)
	}
	r, err := tool.Report(n.t.Context(), "vg0")
	if err != nil {
		n.t.Fatal(err)
	}
	old, _ := r.LV("vg0", "old")
	if err := tool.LVRemove(n.t.Context(), "vg0", "old", old.UUID); err != nil {
		n.t.Fatal(err)
	}
}

// resize is the coordinator's part of a resize.
func (p *pair) resize() {
	p.Helper()
	p.growVolumes()
	p.until("UpToDate", func(n *node) bool { return n.disk() == drbd.UpToDate && n.connected() })
	p.nodes[0].give(func(d *decide.Desired) { d.Resources[0].Devices[0].ResizeTo = larger })
	p.until("DRBD has grown", func(n *node) bool { return n.state().Backing[0].Usable >= larger })
	for _, n := range p.nodes {
		n.give(func(d *decide.Desired) {
			d.Resources[0].Devices[0].ResizeTo, d.Resources[0].Devices[0].Size = 0, larger
		})
	}
	p.until("UpToDate again", func(n *node) bool { return n.disk() == drbd.UpToDate && n.connected() })
}

func TestAResizeSurvivesACrashAtAnyPoint(t *testing.T) {
	data := bytes.Repeat([]byte("kept"), 1024)
	for _, v := range []drbd.Version{drbdtest.V84, drbdtest.V9} {
		for _, kind := range []string{"thick killed", "thick power", "thin power"} {
			for victim := range 2 {
				t.Run(fmt.Sprintf("%s %s node %d", v.Kernel, kind, victim), func(t *testing.T) {
					t.Parallel()
					points := 1
					for at := 0; at <= points && !t.Failed(); at++ {
						synctest.Test(t, func(t *testing.T) {
							p := newPair(t, v, kind == "thin power")
							defer p.end()
							for _, n := range p.nodes {
								n.litter()
								n.start()
							}
							p.preconfigure()
							p.connect()
							p.bootstrap()
							p.formed()
							p.write(data)
							n := p.nodes[victim]
							n.stop()
							n.crash(at)
							if kind != "thick killed" {
								n.after = n.loseAndRegainPower
							}
							n.start()
							p.resize()
							if at == 0 {
								points = len(n.points)
							}
							p.read(data)
							if t.Failed() && at > 0 {
								t.Fatalf("after a crash at point %d: %s", at, n.points[at-1])
							}
						})
					}
					t.Logf("%d points", points)
				})
			}
		}
	}
}

// write writes to the end of the volume's data on the first node.
func (p *pair) write(data []byte) {
	p.Helper()
	p.onPrimary(0, func(n *node) error { return n.DRBD.Write(p.Context(), 10000, 0, data) })
}

// read compares what the second node has.
func (p *pair) read(want []byte) {
	p.Helper()
	p.onPrimary(1, func(n *node) error {
		got, err := n.DRBD.Read(p.Context(), 10000, 0, int64(len(want)))
		if err == nil && !bytes.Equal(got, want) {
			p.Errorf("%s: the data is not what was written", n.Name)
		}
		return err
	})
}

func (p *pair) onPrimary(which int, do func(n *node) error) {
	p.Helper()
	n := p.nodes[which]
	n.give(func(d *decide.Desired) { d.Resources[0].Primary = true })
	p.until("Primary", func(m *node) bool { return m != n || m.role() == drbd.Primary })
	if err := do(n); err != nil {
		p.Error(err)
	}
	n.give(func(d *decide.Desired) { d.Resources[0].Primary = false })
	p.until("Secondary", func(m *node) bool { return m.role() == drbd.Secondary })
}

// The kernels of DRBD 8.4 would each take another size, and refuse the other's bitmap; the writer would never come back from that.
func TestAPeerThatDiesWhileAVolumeGrowsMeetsTheOneThatWrites(t *testing.T) {
	for victim := range 2 {
		t.Run(fmt.Sprintf("node %d", victim), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, drbdtest.V84, false)
				defer p.end()
				p.form()
				writer, lost := p.nodes[1-victim], p.nodes[victim]
				writer.give(func(d *decide.Desired) { d.Resources[0].Primary = true })
				p.until("Primary", func(n *node) bool { return n != writer || n.role() == drbd.Primary })
				closed, err := writer.DRBD.Open(10000, "mkfs")
				if err != nil {
					t.Fatal(err)
				}
				before := writer.size()
				p.growVolumes()
				lost.stop()
				if err := lost.PowerOff(); err != nil {
					t.Fatal(err)
				}
				p.until("it holds its size", func(n *node) bool { return n != writer || n.ran("--size=") > 0 })
				writer.write(0)
				lost.PowerOn()
				lost.start()
				p.until("UpToDate", func(n *node) bool { return n.disk() == drbd.UpToDate && n.connected() })
				writer.write(4096)
				for _, n := range p.nodes {
					if got := n.size(); got != before {
						t.Errorf("%s has %d bytes before it was told to grow, had %d", n.Name, got, before)
					}
				}
				writer.give(func(d *decide.Desired) { d.Resources[0].Devices[0].ResizeTo = larger })
				p.until("DRBD has grown", func(n *node) bool { return n.state().Backing[0].Usable >= larger })
				p.until("UpToDate again", func(n *node) bool { return n.disk() == drbd.UpToDate && n.connected() })
				writer.write(8192)
				closed()
			})
		})
	}
}

// growVolumes has both LVs grown.
func (p *pair) growVolumes() {
	p.Helper()
	for _, n := range p.nodes {
		n.give(func(d *decide.Desired) { d.Resources[0].Devices[0].Backing.Size = drbd.BackingSize(larger, 7) })
	}
	p.until("LVs have grown", func(n *node) bool { return n.state().Backing[0].LVSize == grownSize })
}

// write writes a block to the device, which must come to an end.
func (n *node) write(off int64) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	if err := n.DRBD.Write(ctx, 10000, off, make([]byte, 4096)); err != nil {
		n.t.Fatal(err)
	}
}

// size is that of the device.
func (n *node) size() int64 {
	n.t.Helper()
	r, err := drbd.New(n.DRBD.Run, n.DRBD.Version()).Status(n.t.Context(), resource)
	if err != nil || len(r.Devices) == 0 {
		n.t.Fatalf("status: %v", err)
	}
	return r.Devices[0].Size
}

func TestAGrowthThatLVMRefusesIsSaidAndLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, drbdtest.V9, false)
		defer p.end()
		p.form()
		for _, n := range p.nodes {
			n.give(func(d *decide.Desired) { d.Resources[0].Devices[0].Backing.Size = 1 << 40 })
		}
		p.until("refused", func(n *node) bool {
			s := n.state()
			return s.ErrorClass == decide.NoSpace && s.Definite && s.Backing[0].LVSize < 32*mib
		})
		for _, n := range p.nodes {
			n.give(func(d *decide.Desired) { d.Resources[0].Devices[0].Backing.Size = drbd.BackingSize(16*mib, 7) })
		}
		p.until("at ease", func(n *node) bool { return n.state().Error == "" })
		for _, n := range p.nodes {
			if f := n.journal.Facts().Backings; f["res-0"].Growing+f["res-1"].Growing+f["res-0"].MetaAt+f["res-1"].MetaAt != 0 {
				t.Errorf("%s: the journal says it grows: %+v", n.Name, f)
			}
		}
	})
}
