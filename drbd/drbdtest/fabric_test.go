package drbdtest_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
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

func TestInjectedFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := formed(t, drbdtest.V9)
		a, tool := p.nodes[0], p.tools[0]

		a.Inject(drbdtest.Fault{Match: "drbdsetup secondary", Skip: 1, Times: 1, Code: 11, Stderr: "r0: State change failed: (-12) Device is held open by someone"})
		p.ok(tool.Secondary(t.Context(), p.refs[0]))
		if err := tool.Secondary(t.Context(), p.refs[0]); !errors.Is(err, drbd.ErrHeldOpen) {
			t.Errorf("the second: got %v", err)
		}
		p.ok(tool.Secondary(t.Context(), p.refs[0]))

		a.Inject(drbdtest.Fault{Match: "primary", Times: 1, Code: 1, After: true})
		if err := tool.Primary(t.Context(), p.refs[0]); err == nil {
			t.Error("no error")
		}
		if r := p.status(0); r.Role != drbd.Primary {
			t.Errorf("it was to run first: %s", r.Role)
		}

		remove := a.Inject(drbdtest.Fault{Match: "status", Garble: func(b []byte) []byte { return b[:len(b)/2] }})
		if _, err := tool.StatusAll(t.Context()); !errors.Is(err, drbd.ErrGarbage) {
			t.Errorf("got %v, want ErrGarbage", err)
		}
		remove()
		_ = p.status(0)

		a.Inject(drbdtest.Fault{Match: "drbdadm adjust r0", Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := tool.Adjust(ctx, p.refs[0]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want DeadlineExceeded", err)
		}
		if ran := a.Ran(); ran[len(ran)-1] != "drbdadm -c /r0.res adjust r0" {
			t.Errorf("ran %q", ran[len(ran)-1])
		}
	})
}

func TestEventStreamsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := formed(t, drbdtest.V9)
		ends := map[string]func(){
			"killed":   p.nodes[0].EndStreams,
			"no power": p.nodes[0].PowerOff,
		}
		for _, how := range []string{"killed", "no power"} {
			done := make(chan error)
			go func() {
				done <- drbd.Follow(t.Context(), p.nodes[0].Follow, func(drbd.Event) error { return nil })
			}()
			synctest.Wait()
			ends[how]()
			if err := <-done; err == nil {
				t.Errorf("%s: no error", how)
			}
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := formed(t, drbdtest.V9)
		p.fabric.Cut("a", "b")
		ended := make(chan error, 2)
		go func() { ended <- p.nodes[0].Write(t.Context(), minor, 0, []byte("x")) }()
		go func() {
			ended <- p.nodes[0].Follow(t.Context(), []string{"drbdsetup", "events2", "--timestamps", "--statistics"}, func([]byte) error { return nil })
		}()
		synctest.Wait()
		p.fabric.Close()
		for range 2 {
			if err := <-ended; err == nil {
				t.Error("ended without error")
			}
		}
		if _, err := p.tools[0].StatusAll(t.Context()); err == nil {
			t.Error("commands go on")
		}
	})
}

func TestNodeWithoutPowerAnswersNothing(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		p := formed(t, v)
		p.nodes[0].PowerOff()
		if _, err := p.tools[0].StatusAll(t.Context()); err == nil {
			t.Error("status answered")
		}
		if _, err := p.nodes[0].Read(t.Context(), minor, 0, 1); err == nil {
			t.Error("read answered")
		}
		if n := p.disks[0].Disk(disk).Opens(); n != 0 {
			t.Errorf("disk open %d times", n)
		}
		p.nodes[0].PowerOn()
		all, err := p.tools[0].StatusAll(t.Context())
		if err != nil || len(all) != 0 {
			t.Errorf("after boot: %v, %v", all, err)
		}
	})
}

func TestFilesThatDrbdadmWouldNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := drbdtest.NewFabric()
		defer f.Close()
		for says, text := range map[string]string{
			"unexpected 'tiebreak no'":      "resource r0 { net { tiebreak no; } }",
			"unexpected end of file":        "resource r0 {",
			"unexpected \"\"":               "resource r0",
			"unexpected \"}\"":              "}",
			"unexpected \";\"":              "resource r0 { ; }",
			"not defined":                   "resource r1 { }",
			"node-id missing":               `resource r0 { on n { volume 0 { device minor 1; disk none; } } }`,
			"device or disk missing":        `resource r0 { on n { node-id 1; volume 0 { device minor 1; } } }`,
			"host 'm' that is not defined":  `resource r0 { on n { node-id 1; } connection { path { host "n" address ipv4 1.1.1.1:1; host "m" address ipv4 1.1.1.2:1; } } }`,
			"'host n' in path":              `resource r0 { on n { node-id 1; } connection { path { host n; } } }`,
			"unexpected 'size' in volume":   `resource r0 { on n { node-id 1; volume 0 { device minor 1; disk none; size 1; } } }`,
			"unexpected section disk":       `resource r0 { on n { node-id 1; disk { } } }`,
			"not defined in your config":    `resource r0 { on m { node-id 1; } }`,
			"unexpected \"{\"":              `resource r0 { { } }`,
			"volume 0: not a number":        `resource r0 { on n { node-id 1; volume 0 { device minor x; disk none; } } }`,
			"unexpected 'a b c' in section": `resource r0 { options { a b c; } }`,
		} {
			n := f.AddNode(drbdtest.NodeConfig{Name: "n", Version: drbdtest.V9, ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
			err := drbd.New(n.Run, drbdtest.V9).Check(t.Context(), drbd.Ref{Name: "r0", File: "/r0.res"})
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: got %v", says, err)
			}
		}
	})
}
