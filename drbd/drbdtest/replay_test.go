package drbdtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// replay is a recorded session of real nodes, done again on simulated ones.
type replay struct {
	*testing.T
	folder string
	fabric *drbdtest.Fabric
	tools  map[string]*drbd.Tool
	refs   map[string]drbd.Ref
	disks  map[string]*drbdtest.Memory
	minor  drbd.Minor
}

// recordedNodes are the nodes and the configuration of the recordings.
func recordedNodes(t *testing.T, v drbd.Version, size int64, names ...string) *replay {
	t.Helper()
	r := &replay{
		T: t, fabric: drbdtest.NewFabric(), tools: map[string]*drbd.Tool{}, refs: map[string]drbd.Ref{},
		disks: map[string]*drbdtest.Memory{}, folder: "9.3.3", minor: 1000,
	}
	t.Cleanup(r.fabric.Close)
	c := drbd.Config{
		Resource: "r0", Secret: "s3cr3t-0123456789",
		Options: drbd.Options{HMACAlg: "sha256", VerifyAlg: "crc32c", Quorum: 2},
	}
	if v.Is84() {
		r.folder, r.minor = "8.4.11", 0
	}
	for i, name := range names {
		c.Hosts = append(c.Hosts, drbd.Host{
			Name: name, NodeID: drbd.NodeID(i), Addresses: []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, 1, byte(i + 1)}), 7700)},
		})
	}
	c.Volumes = []drbd.Volume{{Minor: r.minor, Disk: "/dev/vg0/r0"}}
	for _, name := range names {
		c.This = name
		text, err := c.Render(v)
		r.ok(err)
		r.disks[name] = drbdtest.NewMemory()
		r.disks[name].Create("/dev/vg0/r0", size)
		n := r.fabric.AddNode(drbdtest.NodeConfig{
			Name: name, Version: v, Disks: r.disks[name], ReadFile: func(string) ([]byte, error) { return text, nil },
		})
		r.tools[name] = drbd.New(n.Run, v)
		r.refs[name] = drbd.Ref{Name: "r0", File: "/etc/drbd.d/r0.res", Minors: []drbd.Minor{r.minor}}
		r.ok(r.tools[name].CreateMD(t.Context(), drbd.MetaDev{Minor: r.minor, Disk: "/dev/vg0/r0"}, drbd.MaxPeers))
	}
	return r
}

func (r *replay) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *replay) up(names ...string) {
	r.Helper()
	for _, n := range names {
		r.ok(r.tools[n].Up(r.Context(), r.refs[n]))
	}
	r.settle()
}

// settle gives the nodes time to come to rest.
func (r *replay) settle() { time.Sleep(time.Minute) }

func (r *replay) write(name string, off int64, n int) {
	r.Helper()
	r.ok(r.fabric.Node(name).Write(r.Context(), r.minor, off, bytes.Repeat([]byte{7}, n)))
}

// read reads a recording.
func (r *replay) read(pattern string) (text string, exit int) {
	r.Helper()
	names, err := filepath.Glob(filepath.Join("..", "testdata", r.folder, pattern+"*"))
	if err != nil || len(names) != 1 {
		r.Fatalf("recording %s: %d files, %v", pattern, len(names), err)
	}
	b, err := os.ReadFile(names[0])
	r.ok(err)
	m := regexp.MustCompile(`(?m)^exit[ =](\d+)\n\z`).FindStringSubmatchIndex(string(b))
	exit, err = strconv.Atoi(string(b[m[2]:m[3]]))
	r.ok(err)
	_, text, _ = strings.Cut(string(b[:m[0]]), "\n")
	return text, exit
}

// states compares the nodes with recorded states.
func (r *replay) states(recordings map[string]string) {
	r.Helper()
	for pattern, name := range recordings {
		text, _ := r.read(pattern)
		var recorded []drbd.Resource
		var err error
		if r.folder == "8.4.11" {
			recorded = parseText(text)
		} else {
			recorded, err = drbd.ParseStatus([]byte(text))
			r.ok(err)
		}
		got, err := r.tools[name].StatusAll(r.Context())
		r.ok(err)
		if diff := cmp.Diff(states(recorded), states(got)); diff != "" {
			r.Errorf("%s on %s (-recorded +simulated):\n%s", pattern, name, diff)
		}
	}
}

// states is what a status means, without counts.
func states(resources []drbd.Resource) []string {
	var lines []string
	for _, r := range resources {
		lines = append(lines, fmt.Sprintf("%s node %d %s %+v", r.Name, r.NodeID, r.Role, r.Suspended))
		for _, d := range r.Devices {
			lines = append(lines, fmt.Sprintf("  volume %d minor %d %s %d bytes quorum %t", d.Volume, d.Minor, d.Disk, d.Size, d.Quorum))
		}
		for _, p := range r.Peers {
			lines = append(lines, fmt.Sprintf("  peer %d %s %s %s", p.NodeID, p.Name, p.Conn, p.Role))
			for _, d := range p.Devices {
				lines = append(lines, fmt.Sprintf("    %s %s in sync %t", d.Repl, d.Disk, d.OutOfSync == 0))
			}
		}
	}
	return lines
}

// parseText reads status --verbose --statistics of DRBD 8.4, which is made
// for people: words with a colon are fields, words without are names. What
// follows an empty line is another command's.
func parseText(text string) []drbd.Resource {
	block, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	var lines []string
	var kind drbd.EventObject
	begin := func(k drbd.EventObject, words string) {
		kind = k
		lines = append(lines, "exists "+string(k)+" "+words)
	}
	for word := range strings.FieldsSeq(block) {
		switch {
		case !strings.Contains(word, ":") && kind == "":
			begin(drbd.ResourceEvent, "name:"+word)
		case !strings.Contains(word, ":"):
			begin(drbd.ConnectionEvent, "name:r0 conn-name:"+word)
		case strings.HasPrefix(word, "volume:") && kind == drbd.ConnectionEvent:
			begin(drbd.PeerDeviceEvent, "name:r0 "+word)
		case strings.HasPrefix(word, "volume:"):
			begin(drbd.DeviceEvent, "name:r0 "+word)
		default:
			lines[len(lines)-1] += " " + word
		}
	}
	resources, err := drbd.ParseDump([]byte(strings.Join(append(lines, "exists -"), "\n")))
	if err != nil {
		return nil
	}
	return resources
}

// refused compares a refusal with the recorded one.
func (r *replay) refused(pattern string, err error) {
	r.Helper()
	text, exit := r.read(pattern)
	refusal, ok := errors.AsType[*drbd.Error](err)
	if !ok {
		r.Errorf("%s: got %v, want exit %d: %s", pattern, err, exit, text)
		return
	}
	said := regexp.MustCompile(`(Failure|State change failed): .*|No valid meta data found|\d of \d nodes visible.*`)
	if diff := cmp.Diff(said.FindAllString(text, -1), said.FindAllString(strings.ReplaceAll(refusal.Text, "; ", "\n"), -1)); diff != "" || refusal.Code != exit {
		r.Errorf("%s: exit %d, recorded %d (-recorded +simulated):\n%s", pattern, refusal.Code, exit, diff)
	}
}

func TestReplayOfDRBD84(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := recordedNodes(t, drbdtest.V84, 64<<20, "n1", "n2")
		ctx, n1, n2 := t.Context(), r.tools["n1"], r.tools["n2"]
		r.up("n1")
		r.states(map[string]string{"033-": "n1"})
		r.up("n2")
		r.states(map[string]string{"039-": "n1", "040-": "n2"})
		r.ok(n1.NewCurrentUUID(ctx, r.minor, drbd.SkipInitialSync))
		r.states(map[string]string{"044-": "n1", "045-": "n2"})
		r.ok(n1.Primary(ctx, r.refs["n1"]))
		release, err := r.fabric.Node("n1").Open(r.minor, "mount")
		r.ok(err)
		r.states(map[string]string{"050-": "n1", "051-": "n2"})
		r.refused("054-", n2.Primary(ctx, r.refs["n2"]))
		r.refused("056-", n1.Secondary(ctx, r.refs["n1"]))
		r.refused("057-", n1.Down(ctx, "r0"))
		release()
		r.ok(n1.Secondary(ctx, r.refs["n1"]))
		r.ok(n2.Primary(ctx, r.refs["n2"]))
		r.fabric.Cut("n1", "n2")
		r.write("n2", 0, 8<<20)
		r.settle()
		r.states(map[string]string{"075-": "n1", "076-": "n2"})
		r.ok(n1.Primary(ctx, r.refs["n1"])) // 079: the mistake that made the split brain
		r.ok(n1.Secondary(ctx, r.refs["n1"]))
		r.fabric.Heal()
		r.settle()
		r.states(map[string]string{"080-": "n1", "081-": "n2"})
		r.refused("089-", n2.Disconnect(ctx, r.refs["n2"], 0))
		r.ok(n2.Connect(ctx, r.refs["n2"], 0))
		r.settle()
		r.states(map[string]string{"096-": "n1", "097-": "n2"})
		r.ok(n1.Connect(ctx, r.refs["n1"], 0))
		r.ok(n2.Secondary(ctx, r.refs["n2"]))
		r.settle()
		r.states(map[string]string{"108-": "n1", "109-": "n2"})
		r.ok(n1.Down(ctx, "r0"))
		r.disks["n1"].Create("/dev/vg0/r0", 96<<20)
		r.refused("144-", n1.Up(ctx, r.refs["n1"]))
		r.states(map[string]string{"145-": "n1"})
		r.ok(n1.Down(ctx, "r0"))
		r.ok(n1.CreateMD(ctx, drbd.MetaDev{Minor: 0, Disk: "/dev/vg0/r0"}, 1))
		r.ok(n2.Down(ctx, "r0"))
		r.up("n1")
		r.refused("146-", n1.Primary(ctx, r.refs["n1"]))
		r.ok(n1.NewCurrentUUID(ctx, 0, drbd.FullInitialSync)) // 150: primary --force obeys alone
	})
}

// The third recorded session: detach, attach, power loss of the Primary.
func TestReplayOfDRBD84Failover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := recordedNodes(t, drbdtest.V84, 64<<20, "n1", "n2")
		ctx, n1, n2 := t.Context(), r.tools["n1"], r.tools["n2"]
		r.up("n1", "n2")
		r.ok(n1.NewCurrentUUID(ctx, 0, drbd.SkipInitialSync))
		r.ok(n1.Primary(ctx, r.refs["n1"]))
		r.ok(n2.Detach(ctx, 0))
		r.states(map[string]string{"234-": "n1", "235-": "n2"})
		r.write("n1", 0, 4<<20)
		r.ok(n2.Attach(ctx, r.refs["n2"], 0))
		r.settle()
		r.states(map[string]string{"240-": "n1", "241-": "n2"})
		r.ok(n1.Detach(ctx, 0))
		r.states(map[string]string{"245-": "n1", "246-": "n2"})
		r.write("n1", 0, 2<<20)
		r.ok(n1.Attach(ctx, r.refs["n1"], 0))
		r.settle()
		r.fabric.Node("n1").PowerOff()
		r.settle()
		r.ok(n2.Primary(ctx, r.refs["n2"])) // 273
		r.fabric.Node("n1").PowerOn()
		r.ok(n1.Up(ctx, r.refs["n1"]))
		r.settle()
		r.states(map[string]string{"293-": "n1", "292-": "n2"}) // as after any resync, the Primary on n2
	})
}

func TestReplayOfDRBD9(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := recordedNodes(t, drbdtest.V9, 256<<20, "n1", "n2", "n3")
		ctx, n1, n2, n3 := t.Context(), r.tools["n1"], r.tools["n2"], r.tools["n3"]
		r.refused("130-", func() error {
			r.up("n1")
			return n1.Up(ctx, r.refs["n1"])
		}())
		r.states(map[string]string{"126-": "n1"})
		r.up("n2", "n3")
		r.states(map[string]string{"228-": "n1", "232-": "n2", "236-": "n3"})
		r.refused("241-", n1.Primary(ctx, r.refs["n1"]))
		r.ok(n1.NewCurrentUUID(ctx, 1000, drbd.SkipInitialSync))
		r.states(map[string]string{"248-": "n1", "252-": "n2", "256-": "n3"})
		r.refused("242-", n1.NewCurrentUUID(ctx, 1000, drbd.SkipInitialSync))
		r.ok(n1.Primary(ctx, r.refs["n1"]))
		r.states(map[string]string{"266-": "n1", "270-": "n2", "274-": "n3"})
		r.refused("278-", n1.NewCurrentUUID(ctx, 1000, drbd.SkipInitialSync))
		r.refused("279-", n2.NewCurrentUUID(ctx, 1000, drbd.SkipInitialSync))
		r.refused("280-", n2.Primary(ctx, r.refs["n2"]))
		release, err := r.fabric.Node("n1").Open(1000, "mount")
		r.ok(err)
		r.refused("285-", n1.Secondary(ctx, r.refs["n1"]))
		r.refused("288-", n1.Down(ctx, "r0"))
		r.states(map[string]string{"299-": "n3"})
		r.fabric.Isolate("n3")
		r.settle()
		r.states(map[string]string{"303-": "n1", "307-": "n2", "311-": "n3"})
		r.refused("315-", n3.Primary(ctx, r.refs["n3"]))
		r.write("n1", 0, 5<<20)
		r.states(map[string]string{"318-": "n1", "322-": "n3"})
		r.fabric.Isolate("n2")
		r.settle()
		r.states(map[string]string{"326-": "n1", "330-": "n2", "334-": "n3"})
		r.refused("346-", n2.Primary(ctx, r.refs["n2"]))
		release()
	})
}
