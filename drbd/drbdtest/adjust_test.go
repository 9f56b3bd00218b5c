package drbdtest_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// mesh is nodes whose files can be changed.
type mesh struct {
	*testing.T
	fabric  *drbdtest.Fabric
	version drbd.Version
	names   []string
	files   map[string]drbd.Config
	tools   map[string]*drbd.Tool
	nodes   map[string]*drbdtest.Node
	disks   map[string]*drbdtest.Memory
}

// newMesh makes nodes that all have one resource of one volume, diskful.
func newMesh(t *testing.T, v drbd.Version, names ...string) *mesh {
	t.Helper()
	m := &mesh{
		T: t, fabric: drbdtest.NewFabric(), version: v, names: names, files: map[string]drbd.Config{},
		tools: map[string]*drbd.Tool{}, nodes: map[string]*drbdtest.Node{}, disks: map[string]*drbdtest.Memory{},
	}
	t.Cleanup(m.fabric.Close)
	c := drbd.Config{
		Resource: "r0", Secret: "s3cret", Volumes: []drbd.Volume{{Minor: 1000, Disk: "/dev/vg0/r0.0"}},
		Options: drbd.Options{HMACAlg: "sha256", VerifyAlg: "crc32c"},
	}
	for i, name := range names {
		c.Hosts = append(c.Hosts, drbd.Host{Name: name, NodeID: drbd.NodeID(i), Addresses: []netip.AddrPort{
			netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 7000),
		}})
	}
	for _, name := range names {
		c.This = name
		m.files[name] = c
		m.disks[name] = drbdtest.NewMemory()
		n := m.fabric.AddNode(drbdtest.NodeConfig{
			Name: name, Version: v, Disks: m.disks[name],
			ReadFile: func(string) ([]byte, error) { return m.files[name].Render(v) },
		})
		m.nodes[name], m.tools[name] = n, drbd.New(n.Run, v)
		m.newDisk(name, 0, 64<<20)
	}
	return m
}

func (m *mesh) newDisk(name string, volume int, size int64) string {
	m.Helper()
	path := fmt.Sprintf("/dev/vg0/r0.%d", volume)
	m.disks[name].Create(path, size)
	m.ok(m.tools[name].CreateMD(m.Context(), drbd.MetaDev{Minor: drbd.Minor(1000 + volume), Disk: path}, 7))
	return path
}

func (m *mesh) ok(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *mesh) ref(name string) drbd.Ref {
	r := drbd.Ref{Name: "r0", File: "/r0.res"}
	for _, v := range m.files[name].Volumes {
		r.Minors = append(r.Minors, v.Minor)
	}
	return r
}

// change edits every file.
func (m *mesh) change(edit func(name string, c *drbd.Config)) {
	for _, name := range m.names {
		c := m.files[name]
		c.Hosts, c.Volumes = slices.Clone(c.Hosts), slices.Clone(c.Volumes)
		edit(name, &c)
		m.files[name] = c
	}
}

// verbs are what adjust would do.
func (m *mesh) verbs(name string) []string {
	m.Helper()
	plan, err := m.tools[name].DryAdjust(m.Context(), m.ref(name))
	m.ok(err)
	var verbs []string
	for _, c := range plan {
		verbs = append(verbs, c.Verb)
	}
	return verbs
}

// adjust adjusts all nodes and lets them come to rest.
func (m *mesh) adjust() {
	m.Helper()
	for _, name := range m.names {
		m.ok(m.tools[name].Adjust(m.Context(), m.ref(name)))
	}
	time.Sleep(time.Minute)
}

func (m *mesh) status(name string) drbd.Resource {
	m.Helper()
	r, err := m.tools[name].Status(m.Context(), "r0")
	m.ok(err)
	return r
}

func (m *mesh) want(what string, got, want any) {
	m.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		m.Errorf("%s: %s", what, diff)
	}
}

// settled checks that nothing is left to do.
func (m *mesh) settled() {
	m.Helper()
	for _, name := range m.names {
		m.want("left to do on "+name, m.verbs(name), []string(nil))
	}
}

func TestAdjustOptions(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		m := newMesh(t, v, "a", "b")
		m.adjust()
		m.settled()
		m.change(func(_ string, c *drbd.Config) {
			c.Options.AllowTwoPrimaries, c.Options.DiscardGranularity, c.Options.Quorum = true, 65536, 2
			c.Options.Tuning.ResyncRate = 10 << 20
		})
		want := []string{"disk-options", "resource-options", "net-options", "peer-device-options"}
		if v.Is84() {
			want = []string{"disk-options", "net-options"} // no quorum, resync rates are the disk's
		}
		m.want("plan", m.verbs("a"), want)
		m.adjust()
		m.settled()
		m.ok(m.tools["a"].NewCurrentUUID(t.Context(), 1000, drbd.SkipInitialSync))
		for _, name := range m.names { // now two Primaries are allowed
			m.ok(m.tools[name].Primary(t.Context(), m.ref(name)))
		}
	})
}

func TestAdjustAddress(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		m := newMesh(t, v, "a", "b")
		m.adjust()
		m.change(func(_ string, c *drbd.Config) {
			c.Hosts[1].Addresses = []netip.AddrPort{netip.MustParseAddrPort("10.9.9.9:7009")}
		})
		want := []string{"del-path", "new-path"}
		if v.Is84() {
			want = []string{"disconnect", "connect"}
		}
		m.want("plan", m.verbs("a"), want)
		m.adjust()
		m.settled()
		m.want("connection", m.status("a").Peers[0].Conn, drbd.Connected)
	})
}

func TestAdjustVolumes(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		m := newMesh(t, v, "a", "b")
		m.adjust()
		m.change(func(name string, c *drbd.Config) {
			c.Volumes = append(c.Volumes, drbd.Volume{Number: 1, Minor: 1001, Disk: m.newDisk(name, 1, 32<<20)})
		})
		m.want("plan to add", m.verbs("a"), []string{"new-minor", "apply-al", "attach"})
		m.adjust()
		m.settled()
		m.want("devices", len(m.status("a").Devices), 2)
		m.change(func(_ string, c *drbd.Config) { c.Volumes = c.Volumes[:1] })
		m.want("plan to remove", m.verbs("a"), []string{"detach", "del-minor"})
		m.adjust()
		m.want("devices", len(m.status("a").Devices), 1)
	})
}

func TestAdjustBackingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, drbdtest.V9, "a", "b")
		m.adjust()
		m.ok(m.tools["b"].NewCurrentUUID(t.Context(), 1000, drbd.SkipInitialSync))
		m.disks["a"].Create("/dev/vg0/new", 64<<20)
		m.ok(m.tools["a"].CreateMD(t.Context(), drbd.MetaDev{Minor: 1999, Disk: "/dev/vg0/new"}, 7))
		m.change(func(name string, c *drbd.Config) {
			if name == "a" {
				c.Volumes[0].Disk = "/dev/vg0/new"
			}
		})
		m.want("plan", m.verbs("a"), []string{"detach", "apply-al", "attach"})
		m.adjust()
		m.want("disk", m.status("a").Devices[0].Disk, drbd.UpToDate)
	})
}

func TestThirdDiskSyncsFromOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, drbdtest.V9, "a", "b", "c")
		m.adjust()
		m.ok(m.tools["a"].NewCurrentUUID(t.Context(), 1000, drbd.FullInitialSync))
		time.Sleep(200 * time.Millisecond)
		m.want("source", m.status("a").Peers[1].Devices[0].Repl, drbd.SyncSource)
		time.Sleep(time.Minute)
		m.ok(m.tools["c"].Down(t.Context(), "r0"))
		m.newDisk("c", 0, 64<<20)
		m.ok(m.tools["c"].Up(t.Context(), m.ref("c")))
		time.Sleep(900 * time.Millisecond)
		r := m.status("c")
		repl := []drbd.ReplState{r.Peers[0].Devices[0].Repl, r.Peers[1].Devices[0].Repl}
		slices.Sort(repl)
		m.want("resyncs of c", repl, []drbd.ReplState{drbd.PausedSyncT, drbd.SyncTarget})
		source := "a"
		if r.Peers[1].Devices[0].Repl == drbd.SyncTarget {
			source = "b"
		}
		m.fabric.Cut("c", source) // the other goes on
		time.Sleep(time.Minute)
		m.want("disk of c", m.status("c").Devices[0].Disk, drbd.UpToDate)
		m.fabric.Heal()
		time.Sleep(time.Minute)
		for _, p := range m.status("c").Peers {
			m.want("peer "+p.Name, []any{p.Conn, p.Devices[0].Repl, p.Devices[0].OutOfSync}, []any{drbd.Connected, drbd.Established, int64(0)})
		}
	})
}

func TestTieBreakerKeepsQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, drbdtest.V9, "a", "b", "c")
		m.change(func(name string, c *drbd.Config) {
			c.Options.Quorum, c.Options.OnNoQuorum = 2, drbd.IOError
			c.Hosts[2].Kind = drbd.TieBreaker
			if name == "c" {
				c.Volumes[0].Disk = ""
			}
		})
		m.adjust()
		m.ok(m.tools["a"].NewCurrentUUID(t.Context(), 1000, drbd.SkipInitialSync))
		m.want("c", []any{m.status("c").Devices[0].Disk, m.status("c").Devices[0].Client, m.status("c").Devices[0].Size},
			[]any{drbd.Diskless, true, drbd.UsableSize(64<<20, 7)})
		m.want("c as seen", m.status("a").Peers[1].Devices[0].Client, true)
		m.ok(m.tools["a"].Primary(t.Context(), m.ref("a")))
		m.fabric.Isolate("b")
		time.Sleep(time.Minute)
		m.want("quorum of a", m.status("a").Devices[0].Quorum, true)
		m.want("quorum of b", m.status("b").Devices[0].Quorum, false)
		m.fabric.Isolate("c")
		time.Sleep(time.Minute)
		m.want("quorum of a alone", m.status("a").Devices[0].Quorum, true) // 1247: nobody else can have it
	})
}

func TestADisklessNodeHasQuorumWhenAPeerWithADiskHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMesh(t, drbdtest.V9, "a", "b", "c")
		m.change(func(name string, c *drbd.Config) {
			c.Options.Quorum, c.Options.OnNoQuorum, c.Options.QuorumMinimumRedundancy = 2, drbd.IOError, 2
			c.Hosts[2].Kind = drbd.Access
			if name == "c" {
				c.Volumes[0].Disk, c.Options.Quorum = "", drbd.NoVote
			}
		})
		m.adjust()
		m.ok(m.tools["a"].NewCurrentUUID(t.Context(), 1000, drbd.SkipInitialSync))
		m.want("quorum of c", m.status("c").Devices[0].Quorum, true)
		m.ok(m.tools["c"].Primary(t.Context(), m.ref("c")))
		m.fabric.Isolate("b")
		time.Sleep(time.Minute)
		m.want("quorum of a, which has lost b", m.status("a").Devices[0].Quorum, false)
		m.want("quorum of c, which goes by a", m.status("c").Devices[0].Quorum, false)
	})
}

func TestDisksOfTwoSizesTakeTheSmaller(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		m := newMesh(t, v, "a", "b")
		m.newDisk("b", 0, 96<<20)
		m.adjust()
		peers := 7
		if v.Is84() {
			peers = 1
		}
		for _, name := range m.names {
			m.want("size on "+name, m.status(name).Devices[0].Size, drbd.UsableSize(64<<20, peers))
		}
	})
}

func TestOtherSecretDoesNotConnect(t *testing.T) {
	inBubbles(t, func(t *testing.T, v drbd.Version) {
		m := newMesh(t, v, "a", "b")
		m.change(func(name string, c *drbd.Config) { c.Secret = drbd.Secret("of-" + name) })
		m.adjust()
		m.want("connection", m.status("a").Peers[0].Conn, drbd.Connecting)
	})
}

func TestVersionIsToldAsTheToolsDo(t *testing.T) {
	for _, v := range []drbd.Version{drbdtest.V84, drbdtest.V9, {Tools: drbdtest.V9.Tools}} {
		f := drbdtest.NewFabric()
		n := f.AddNode(drbdtest.NodeConfig{Name: "a", Version: v})
		got, err := drbd.Detect(t.Context(), n.Run)
		if err != nil || got != v {
			t.Errorf("got %v, %v, want %v", got, err, v)
		}
		if _, err := n.Run(t.Context(), "mkfs.ext4", "/dev/drbd0"); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("got %v", err)
		}
		f.Close()
	}
}
