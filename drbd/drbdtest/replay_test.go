package drbdtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// TestReplay does recorded sessions of real nodes again on simulated ones and compares
// what comes out. Each script in testdata/replay is one session: lines of recordings by
// number, and between them what happened to the nodes; see verbs.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/replay/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, f) })
		})
	}
}

// play runs one script.
func play(t *testing.T, path string) {
	t.Helper()
	var r *replay
	for at, line := range lines(t, path) {
		words := strings.Fields(line)
		switch {
		case words[0] == "nodes":
			r = newReplay(t, words[1:])
		case r == nil:
			t.Fatalf("%s:%d: nodes come first", path, at)
		default:
			r.at = fmt.Sprintf("%s:%d", filepath.Base(path), at)
			r.line(words)
		}
	}
	r.asRecorded()
}

// lines are the lines of a file that say something, by number.
func lines(t *testing.T, path string) func(yield func(int, string) bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(int, string) bool) {
		for i, line := range strings.Split(string(text), "\n") {
			line, _, _ = strings.Cut(line, "#")
			if line = strings.TrimSpace(line); line != "" && !yield(i+1, line) {
				return
			}
		}
	}
}

// replay is a session under way.
type replay struct {
	*testing.T
	at       string // where in the script
	bits     bool   // whether bitmaps are compared
	folder   string // of the recordings
	version  drbd.Version
	resource string
	fabric   *drbdtest.Fabric
	minor    drbd.Minor
	hosts    []drbd.Host
	options  drbd.Options
	files    map[string][]byte // by node: its .res file
	disks    map[string]*drbdtest.Memory
	holds    map[string]func() // by node
	pending  []chan error      // writes under way
	told     map[string]*changes
}

const (
	device  = "/dev/vg0/r0"
	resFile = "/etc/drbd.d/r0.res"
)

// newReplay makes nodes as the recordings had them. Words are the version, options, and
// names; a name with a minus has no disk, one with a plus comes later.
func newReplay(t *testing.T, words []string) *replay {
	t.Helper()
	r := &replay{
		T: t, folder: "9.3.3", version: drbdtest.V9, resource: "r0", fabric: drbdtest.NewFabric(), minor: 1000,
		files: map[string][]byte{}, disks: map[string]*drbdtest.Memory{}, told: map[string]*changes{}, holds: map[string]func(){},
		options: drbd.Options{HMACAlg: "sha256", VerifyAlg: "crc32c", Quorum: 2},
	}
	if words[0] == "8.4" {
		r.folder, r.version, r.minor = "8.4.11", drbdtest.V84, 0
	}
	t.Cleanup(r.fabric.Close)
	size := int64(256 << 20)
	for _, w := range words[1:] {
		name, value, option := strings.Cut(w, "=")
		switch {
		case name == "size":
			size = r.bytes(value)
		case name == "usable":
			size = drbd.BackingSize(r.bytes(value), drbd.MaxPeers)
		case name == "rate":
			r.options.Tuning.ResyncRate = r.bytes(value)
		case name == "on-no-quorum":
			r.options.OnNoQuorum = value
		case name == "resource":
			r.resource, r.minor = value, 1001
		case option:
			t.Fatalf("no option %q", w)
		default:
			r.addHost(name)
		}
	}
	for _, h := range r.hosts {
		r.boot(h, size)
	}
	return r
}

func (r *replay) addHost(name string) {
	id := len(r.hosts)
	h := drbd.Host{
		Name: strings.TrimRight(name, "-+"), NodeID: drbd.NodeID(id),
		Addresses: []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, 1, byte(id + 1)}), 7700)},
	}
	if strings.HasSuffix(name, "-") {
		h.Kind = drbd.TieBreaker
	}
	r.hosts = append(r.hosts, h)
}

// boot adds a node with a disk that has new metadata.
func (r *replay) boot(h drbd.Host, size int64) {
	r.Helper()
	r.disks[h.Name] = drbdtest.NewMemory()
	r.fabric.AddNode(drbdtest.NodeConfig{
		Name: h.Name, Version: r.version, Disks: r.disks[h.Name],
		ReadFile: func(string) ([]byte, error) { return r.files[h.Name], nil },
	})
	r.file(h.Name, r.hosts)
	r.follow(h.Name)
	if h.Kind == drbd.Diskful {
		r.disks[h.Name].Create(device, size)
		r.ok(r.tool(h.Name).CreateMD(r.Context(), r.meta(), drbd.MaxPeers))
	}
}

// file writes a node's .res file for a mesh of hosts.
func (r *replay) file(name string, hosts []drbd.Host) {
	r.Helper()
	c := drbd.Config{
		Resource: r.resource, This: name, Hosts: hosts, Secret: "s3cr3t-0123456789", Options: r.options,
		Volumes: []drbd.Volume{{Minor: r.minor, Disk: device}},
	}
	if i := slices.IndexFunc(hosts, func(h drbd.Host) bool { return h.Name == name }); i < 0 || hosts[i].Kind != drbd.Diskful {
		c.Volumes[0].Disk = ""
	}
	text, err := c.Render(r.version)
	r.ok(err)
	r.files[name] = text
}

func (r *replay) meta() drbd.MetaDev { return drbd.MetaDev{Minor: r.minor, Disk: device} }

func (r *replay) node(name string) *drbdtest.Node {
	r.Helper()
	n := r.fabric.Node(name)
	if n == nil {
		r.Fatalf("%s: no node %q", r.at, name)
	}
	return n
}

func (r *replay) tool(name string) *drbd.Tool { return drbd.New(r.node(name).Run, r.version) }

func (r *replay) ref() drbd.Ref {
	return drbd.Ref{Name: r.resource, File: resFile, Minors: []drbd.Minor{r.minor}}
}

func (r *replay) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: %v", r.at, err)
	}
}

// bytes reads 5M, 4096.
func (r *replay) bytes(s string) int64 {
	r.Helper()
	unit := int64(1)
	if number, ok := strings.CutSuffix(s, "M"); ok {
		s, unit = number, 1<<20
	}
	var n int64
	if _, err := fmt.Sscan(s, &n); err != nil {
		r.Fatalf("%s: %q is no size", r.at, s)
	}
	return n * unit
}

func (r *replay) write(name string, off, n int64) error {
	return r.node(name).Write(r.Context(), r.minor, off, bytes.Repeat([]byte{7}, int(n)))
}

// sleep waits a second; false: no longer.
func (r *replay) sleep(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Second):
		return true
	}
}

// ended waits for the writes under way.
func (r *replay) ended() {
	for _, c := range r.pending {
		if err := <-c; err != nil && !errors.Is(err, drbdtest.ErrIO) {
			r.Errorf("%s: a write ended with %v", r.at, err)
		}
	}
	r.pending = nil
}

// settle gives the nodes time to come to rest.
const settle = time.Minute
