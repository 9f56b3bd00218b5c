package drbdtest_test

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// two are two formed nodes, the first Primary.
type two struct {
	*testing.T
	fabric *drbdtest.Fabric
	nodes  []*drbdtest.Node
	tools  []*drbd.Tool
	refs   []drbd.Ref
	disks  []*drbdtest.Memory
}

const (
	minor = drbd.Minor(1000)
	disk  = "/dev/vg0/r0"
)

func formed(t *testing.T, v drbd.Version) *two {
	t.Helper()
	p := &two{T: t, fabric: drbdtest.NewFabric()}
	t.Cleanup(p.fabric.Close)
	hosts := []drbd.Host{
		{Name: "a", NodeID: 0, Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:7000")}},
		{Name: "b", NodeID: 1, Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.2:7000")}},
	}
	for i, h := range hosts {
		c := drbd.Config{
			Resource: "r0", This: h.Name, Hosts: hosts, Secret: "s3cret",
			Volumes: []drbd.Volume{{Minor: minor, Disk: disk}},
			Options: drbd.Options{HMACAlg: "sha256", VerifyAlg: "crc32c"},
		}
		text, err := c.Render(v)
		p.ok(err)
		m := drbdtest.NewMemory()
		m.Create(disk, 64<<20)
		n := p.fabric.AddNode(drbdtest.NodeConfig{
			Name: h.Name, Version: v, Disks: m, ReadFile: func(path string) ([]byte, error) {
				if path != "/r0.res" {
					return nil, os.ErrNotExist
				}
				return text, nil
			},
		})
		p.disks, p.nodes, p.tools = append(p.disks, m), append(p.nodes, n), append(p.tools, drbd.New(n.Run, v))
		p.refs = append(p.refs, drbd.Ref{Name: "r0", File: "/r0.res", Minors: []drbd.Minor{minor}})
		p.ok(p.tools[i].CreateMD(t.Context(), drbd.MetaDev{Minor: minor, Disk: disk}, 7))
		p.ok(p.tools[i].Up(t.Context(), p.refs[i]))
	}
	time.Sleep(time.Minute)
	p.ok(p.tools[0].NewCurrentUUID(t.Context(), minor, drbd.SkipInitialSync))
	p.ok(p.tools[0].Primary(t.Context(), p.refs[0]))
	return p
}

func (p *two) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *two) status(i int) drbd.Resource {
	p.Helper()
	r, err := p.tools[i].Status(p.Context(), "r0")
	p.ok(err)
	return r
}

// inBubbles runs a test for both versions, each in its own bubble.
func inBubbles(t *testing.T, test func(t *testing.T, v drbd.Version)) {
	t.Helper()
	for _, v := range []drbd.Version{drbdtest.V84, drbdtest.V9} {
		t.Run(v.Kernel.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, v) })
		})
	}
}

func TestLossIsNoticedAfterThePingTimeout(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		p := formed(t, v)
		p.fabric.CutOneWay("a", "b")
		time.Sleep(10 * time.Second)
		if c := p.status(1).Peers[0].Conn; c != drbd.Connected {
			t.Errorf("after 10 s: %s", c)
		}
		time.Sleep(time.Second)
		if c := p.status(1).Peers[0].Conn; c != drbd.Connecting {
			t.Errorf("after 11 s: %s", c)
		}
		p.fabric.HealLink("a", "b")
		time.Sleep(15 * time.Second)
		if c := p.status(1).Peers[0].Conn; c != drbd.Connected {
			t.Errorf("healed: %s", c)
		}
	})
}

func TestShortInterruptionIsNotNoticed(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		p := formed(t, v)
		p.fabric.Cut("a", "b")
		time.Sleep(5 * time.Second)
		p.fabric.Heal()
		time.Sleep(time.Minute)
		if r := p.status(1); r.Peers[0].Conn != drbd.Connected || r.Devices[0].Disk != drbd.UpToDate {
			t.Errorf("got %+v", r)
		}
	})
}

func TestWriteTakesTheWayToThePeerAndBack(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		p := formed(t, v)
		p.fabric.Delay("a", "b", 20*time.Millisecond)
		start := time.Now()
		p.ok(p.nodes[0].Write(t.Context(), minor, 0, []byte("x")))
		if took := time.Since(start); took != 40*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

func TestWriteBlocksUntilThePeerIsGivenUp(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		p := formed(t, v)
		p.nodes[1].PowerOff()
		start := time.Now()
		p.ok(p.nodes[0].Write(t.Context(), minor, 4096, bytes.Repeat([]byte{1}, 4096)))
		if took := time.Since(start); took != 6*time.Second {
			t.Errorf("took %s", took)
		}
		if oos := p.status(0).Peers[0].Devices[0].OutOfSync; oos != 4096 {
			t.Errorf("%d bytes out of sync", oos)
		}
	})
}

func TestResyncTakesTimeInProportion(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		p := formed(t, v)
		p.ok(p.tools[1].Invalidate(t.Context(), minor))
		time.Sleep(350 * time.Millisecond)
		r := p.status(1)
		d := r.Peers[0].Devices[0]
		if r.Devices[0].Disk != drbd.Inconsistent || d.Repl != drbd.SyncTarget || d.Done < 40 || d.Done > 60 {
			t.Errorf("half way: %+v", r)
		}
		time.Sleep(400 * time.Millisecond)
		if r := p.status(1); r.Devices[0].Disk != drbd.UpToDate {
			t.Errorf("at the end: %+v", r)
		}
	})
}

func TestResyncGoesOnAfterAnInterruption(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		p := formed(t, v)
		p.ok(p.nodes[0].Write(t.Context(), minor, 32<<20, []byte("here")))
		p.ok(p.tools[1].Invalidate(t.Context(), minor))
		time.Sleep(250 * time.Millisecond)
		p.nodes[1].PowerOff()
		time.Sleep(time.Minute)
		p.nodes[1].PowerOn()
		p.ok(p.tools[1].Up(t.Context(), p.refs[1]))
		if r := p.status(1); r.Devices[0].Disk != drbd.Inconsistent {
			t.Errorf("before the resync: %+v", r)
		}
		time.Sleep(time.Minute)
		if r := p.status(1); r.Devices[0].Disk != drbd.UpToDate {
			t.Errorf("after it: %+v", r)
		}
		p.sameContents()
	})
}

// sameContents compares the backing disks, metadata aside.
func (p *two) sameContents() {
	p.Helper()
	size := p.status(0).Devices[0].Size
	one, other := p.disks[0].Disk(disk), p.disks[1].Disk(disk)
	for _, e := range append(one.Data(0, size), other.Data(0, size)...) {
		a, b := make([]byte, e.Len), make([]byte, e.Len)
		_, errA := one.ReadAt(a, e.Off)
		_, errB := other.ReadAt(b, e.Off)
		p.ok(errors.Join(errA, errB))
		if !bytes.Equal(a, b) {
			p.Errorf("the disks differ at %d", e.Off)
		}
	}
}

func TestFailingDiskIsDetached(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		p := formed(t, v)
		p.disks[0].Disk(disk).Fail(errors.New("broken"))
		p.ok(p.nodes[0].Write(t.Context(), minor, 0, []byte("still served")))
		if r := p.status(0); r.Devices[0].Disk != drbd.Diskless || r.Role != drbd.Primary {
			t.Errorf("got %+v", r)
		}
		got, err := p.nodes[0].Read(t.Context(), minor, 0, 12)
		if err != nil || string(got) != "still served" {
			t.Errorf("got %q, %v", got, err)
		}
		if err := p.tools[0].Attach(t.Context(), p.refs[0], 0); !errors.Is(err, drbd.ErrDiskIO) {
			t.Errorf("got %v, want ErrDiskIO", err)
		}
		p.disks[1].Disk(disk).Fail(errors.New("broken too"))
		if err := p.nodes[0].Write(t.Context(), minor, 0, []byte("lost")); !errors.Is(err, drbdtest.ErrIO) {
			t.Errorf("got %v, want ErrIO", err)
		}
	})
}

func TestVerifyFindsWhatDiffersAndRepairIsOfThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := formed(t, drbdtest.V9)
		p.ok(p.nodes[0].Write(t.Context(), minor, 8192, bytes.Repeat([]byte{5}, 4096)))
		if _, err := p.disks[1].Disk(disk).WriteAt([]byte("rot"), 9000); err != nil {
			t.Fatal(err)
		}
		p.ok(p.tools[0].Verify(t.Context(), p.refs[0], 1, 0))
		time.Sleep(time.Minute)
		if oos := p.status(0).Peers[0].Devices[0].OutOfSync; oos != 4096 {
			t.Errorf("%d bytes out of sync", oos)
		}
		p.ok(p.tools[1].RepairFrom(t.Context(), minor, 0))
		time.Sleep(time.Minute)
		p.sameContents()
	})
}

func TestReplacedDiskHasNoMetadata(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		p := formed(t, v)
		p.ok(p.tools[1].Down(t.Context(), "r0"))
		if n := p.disks[1].Disk(disk).Opens(); n != 0 {
			t.Errorf("open %d times", n)
		}
		p.disks[1].Create(disk, 64<<20)
		if err := p.tools[1].Up(t.Context(), p.refs[1]); !errors.Is(err, drbd.ErrNoMetadata) {
			t.Errorf("got %v", err)
		}
		p.disks[1].Remove(disk)
		if err := p.tools[1].Adjust(t.Context(), p.refs[1]); !errors.Is(err, drbd.ErrNoDisk) {
			t.Errorf("got %v", err)
		}
	})
}

func TestDiskGrownWhileDownIsFound(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		p := formed(t, v)
		p.ok(p.tools[1].Down(t.Context(), "r0"))
		p.disks[1].Disk(disk).Resize(96 << 20)
		p.ok(p.tools[1].CheckResize(t.Context(), drbd.MetaDev{Minor: minor, Disk: disk}))
		p.ok(p.tools[1].Up(t.Context(), p.refs[1]))
		time.Sleep(time.Minute)
		if r := p.status(1); r.Devices[0].Disk != drbd.UpToDate {
			t.Errorf("got %+v", r)
		}
	})
}
