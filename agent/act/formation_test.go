package act_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rvol/agent/act"
	"rvol/agent/agenttest"
	"rvol/agent/decide"
	"rvol/agent/observe"
	"rvol/agent/storage"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
	"rvol/lvm"
)

const (
	mib      = 1 << 20
	cluster  = "c1"
	resource = "rvol-db"
)

// node is a simulated machine with the working half of an agent on it: all
// but the session.
type node struct {
	*agenttest.Machine
	t        *testing.T
	hook     func(point string) error
	confirm  bool
	after    func() // what happens to the machine when the agent has crashed
	log      *slog.Logger
	order    decide.Desired
	journal  *act.Journal
	engine   *act.Engine
	lvm      *observe.LVM
	drbd     *observe.DRBD
	stop     func()
	mu       sync.Mutex
	points   []string // of this test, where a crash could have been
	crashAt  int      // the point at which to crash, counted from 1
	ended    chan struct{}
	runError error
}

func newNode(t *testing.T, f *drbdtest.Fabric, name string, v drbd.Version) *node {
	t.Helper()
	m, err := agenttest.New(f, agenttest.Config{
		Name: name, Version: v, Root: t.TempDir(), Seed: uint64(name[0]),
		Groups:    map[string]int64{"vg0": 1 << 30, "vg1": 1 << 30},
		ThinPools: map[string]string{"vg1": "tp"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &node{Machine: m, t: t, confirm: true, after: func() {}, log: slog.New(slog.DiscardHandler)}
}

// start brings the agent to life. It ends by itself when the hook says so.
func (n *node) start() {
	n.t.Helper()
	var err error
	if n.journal, err = act.OpenJournal(filepath.Join(n.Root, "var/lib/rvol/agent"), n.hook); err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(n.t.Context())
	locks, tool := storage.NewLocks(), lvm.New(n.Run)
	n.lvm = observe.NewLVM(tool, locks, n.Root, func() { n.engine.Poke() })
	n.drbd = observe.NewDRBD(n.Run, n.DRBD.Follow, n.Root, n.log, func(names ...string) { n.engine.Poke(names...) })
	n.engine = act.NewEngine(act.Config{
		Log: n.log, Root: n.Root, Journal: n.journal, LVM: n.lvm, DRBD: n.drbd, Tool: tool, Locks: locks,
		Changed: func() {}, Doing: func() {}, Hook: n.hook,
	})
	n.ended = make(chan struct{})
	ended := n.ended
	observers := make(chan struct{}, 2)
	go func() { _ = n.lvm.Run(ctx); observers <- struct{}{} }()
	go func() { _ = n.drbd.Run(ctx); observers <- struct{}{} }()
	go func() {
		n.runError = n.engine.Run(ctx)
		cancel()
		<-observers
		<-observers
		close(ended)
	}()
	n.stop = func() { cancel(); <-ended }
	synctest.Wait()
	if d, ok := n.journal.Order(); ok {
		n.engine.Order(d, n.confirm)
	}
}

// crashed says that the hook ended the agent.
func (n *node) crashed() bool {
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// give accepts an order and puts it in force, as the session does.
func (n *node) give(change func(*decide.Desired)) {
	n.t.Helper()
	n.order = clone(n.order) // the agent has the other
	n.order.Cluster = cluster
	n.order.Order.Index++
	change(&n.order)
	n.again()
}

func clone(d decide.Desired) decide.Desired {
	d.Resources = slices.Clone(d.Resources)
	for i := range d.Resources {
		devices := slices.Clone(d.Resources[i].Devices)
		for j := range devices {
			if b := devices[j].Backing; b != nil {
				copied := *b
				devices[j].Backing = &copied
			}
		}
		d.Resources[i].Devices = devices
	}
	return d
}

func (n *node) again() {
	err := n.journal.Accept(n.order)
	if _, crash := errors.AsType[*act.CrashError](err); crash || n.crashed() {
		n.stop()
		return // revive gives it again
	}
	if err != nil {
		n.t.Fatal(err)
	}
	n.engine.Order(n.order, true)
}

func (n *node) vgUUID(vg string) string {
	n.t.Helper()
	r, err := lvm.New(n.LVM.Run).Report(n.t.Context(), vg)
	if err != nil {
		n.t.Fatal(err)
	}
	return r.VGs[0].UUID
}

func (n *node) state() decide.ReplicaState {
	states, _ := n.engine.States()
	if len(states) != 1 {
		return decide.ReplicaState{Error: fmt.Sprintf("%d states", len(states))}
	}
	return states[0]
}

func (n *node) disk() drbd.DiskState {
	r, err := drbd.New(n.DRBD.Run, n.DRBD.Version()).Status(n.t.Context(), resource)
	if err != nil || len(r.Devices) == 0 {
		return ""
	}
	return r.Devices[0].Disk
}

func (n *node) role() drbd.Role {
	r, err := drbd.New(n.DRBD.Run, n.DRBD.Version()).Status(n.t.Context(), resource)
	if err != nil {
		return ""
	}
	return r.Role
}

// ran counts the command lines that contain a text.
func (n *node) ran(text string) int {
	count := 0
	for _, line := range n.DRBD.Ran() {
		if strings.Contains(line, text) {
			count++
		}
	}
	for _, argv := range n.LVM.Commands() {
		if strings.Contains(strings.Join(argv, " "), text) {
			count++
		}
	}
	return count
}

// replica is the order for one replica of a volume of two.
func (n *node) replica(id int, thin bool) decide.Resource {
	b := decide.Backing{
		Reservation: fmt.Sprintf("res-%d", id), VG: "vg0", VGUUID: n.vgUUID("vg0"),
		LV: fmt.Sprintf("rvol-db.0.%d", id), Size: drbd.BackingSize(16*mib, 7),
	}
	if thin {
		b.VG, b.VGUUID, b.ThinPool = "vg1", n.vgUUID("vg1"), "tp"
	}
	return decide.Resource{
		Volume: "db", VolumeUID: "vol-1", Name: resource, ReplicaID: drbd.NodeID(id), ReplicaUID: fmt.Sprintf("uid-%d", id),
		Type: decide.Diskful, HostName: n.Name, Port: 17000, Addresses: map[string]string{"default": address(id)},
		Devices: []decide.Device{{Number: 0, Minor: 10000, Size: 16 * mib, Backing: &b}}, MaxPeers: 7,
	}
}

func address(id int) string { return fmt.Sprintf("10.0.0.%d", id+1) }

func (n *node) peer(id int) decide.Peer {
	return decide.Peer{ID: drbd.NodeID(id), Type: decide.Diskful, Node: n.Name, HostName: n.Name, Port: 17000, Addresses: map[string]string{"default": address(id)}}
}

// member makes a preconfigured replica a member.
func member(r decide.Resource, peers ...decide.Peer) decide.Resource {
	r.Member, r.Revision, r.Secret, r.Peers = true, 2, "secret", peers
	if len(peers) > 0 {
		r.Quorum, r.QuorumMinimumRedundancy = 2, 1
	}
	return r
}

// wait lets virtual time pass until ok, or fails.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1200 {
		synctest.Wait()
		if ok() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("waited in vain: %s", what)
}

// pair is two nodes on one fabric.
type pair struct {
	*testing.T
	f     *drbdtest.Fabric
	nodes [2]*node
	thin  bool
}

var errCrash = errors.New("crash")

// crash makes a hook that ends the agent at one point.
func (n *node) crash(at int) {
	n.crashAt = at
	n.hook = func(point string) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.points = append(n.points, point)
		if len(n.points) == n.crashAt {
			return errCrash
		}
		return nil
	}
}

func newPair(t *testing.T, v drbd.Version, thin bool) *pair {
	t.Helper()
	f := drbdtest.NewFabric()
	p := &pair{T: t, f: f, nodes: [2]*node{newNode(t, f, "a", v), newNode(t, f, "b", v)}, thin: thin}
	return p
}

func (p *pair) end() {
	for _, n := range p.nodes {
		if n.stop != nil {
			n.stop()
		}
	}
	p.f.Close()
}

// The coordinator's part of formation, step by step. Each waits for what the
// coordinator would wait for.
func (p *pair) preconfigure() {
	p.Helper()
	for i, n := range p.nodes {
		r := n.replica(i, p.thin)
		n.give(func(d *decide.Desired) { d.Resources = []decide.Resource{r} })
	}
	p.until("preconfigured", func(n *node) bool { return n.state().Preconfigured && n.state().JustCreated })
}

func (p *pair) connect() {
	p.Helper()
	for i, n := range p.nodes {
		n.give(func(d *decide.Desired) {
			d.Resources[0] = member(d.Resources[0], p.nodes[1-i].peer(1-i))
			d.Resources[0].Devices[0].Backing.LVUUID = n.state().Backing[0].LVUUID
		})
	}
	p.until("connected", func(n *node) bool { return n.state().AppliedRevision == 2 && n.connected() && n.state().JustCreated })
}

func (n *node) connected() bool {
	r, err := drbd.New(n.DRBD.Run, n.DRBD.Version()).Status(n.t.Context(), resource)
	return err == nil && len(r.Peers) == 1 && r.Peers[0].Conn == drbd.Connected
}

func (p *pair) bootstrap() {
	p.Helper()
	n := p.nodes[0]
	n.give(func(d *decide.Desired) {
		d.Operations = []decide.Operation{{
			ID: "op-1", Type: decide.CreateNewUUIDOperation, Volume: "db", ReplicaUID: "uid-0",
			NewUUID: &decide.NewUUID{ClearBitmap: p.thin, Revision: 2, Peers: []drbd.NodeID{1}, LVUUIDs: []string{n.state().Backing[0].LVUUID}},
		}}
	})
	p.until("operation", func(*node) bool { return len(p.results()) == 1 })
	if r := p.results(); len(r) != 1 || !r[0].Succeeded {
		p.Errorf("results: %+v", r)
	}
	p.until("UpToDate", func(n *node) bool { return n.disk() == drbd.UpToDate })
	p.until("Secondary", func(n *node) bool { return n.role() == drbd.Secondary })
}

func (p *pair) results() []decide.Result { return p.nodes[0].journal.Results() }

// form starts the agents and gives life to the volume.
func (p *pair) form() {
	p.Helper()
	for _, n := range p.nodes {
		n.start()
	}
	p.preconfigure()
	p.connect()
	p.bootstrap()
	p.formed()
}

func (p *pair) formed() {
	p.Helper()
	for _, n := range p.nodes {
		n.give(func(d *decide.Desired) { d.Resources[0].Formed, d.Operations = true, nil })
	}
}

func (p *pair) until(what string, ok func(*node) bool) {
	p.Helper()
	why := func() string {
		var b strings.Builder
		for _, n := range p.nodes {
			fmt.Fprintf(&b, "\n%s: %+v disk %s role %s", n.Name, n.state(), n.disk(), n.role())
		}
		return b.String()
	}
	for range 1200 {
		synctest.Wait()
		p.revive()
		if ok(p.nodes[0]) && ok(p.nodes[1]) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.Fatalf("waited in vain: %s%s", what, why())
}

// revive starts agents that crashed; the coordinator sends their order again.
func (p *pair) revive() {
	for _, n := range p.nodes {
		if n.crashed() {
			n.after()
			n.start()
			n.again()
			synctest.Wait()
		}
	}
}

// release orders both replicas away.
func (p *pair) release() {
	p.Helper()
	for _, n := range p.nodes {
		n.give(func(d *decide.Desired) {
			r := d.Resources[0]
			b := r.Devices[0].Backing
			d.Resources = nil
			d.Releases = []decide.Release{{
				Reservation: b.Reservation, Volume: "db", Resource: resource, ReplicaUID: r.ReplicaUID,
				VG: b.VG, VGUUID: b.VGUUID, ThinPool: b.ThinPool, LV: b.LV, LVUUID: b.LVUUID,
			}}
		})
	}
	p.until("released", func(n *node) bool {
		_, released := n.engine.States()
		return slices.Equal(released, []string{n.order.Releases[0].Reservation})
	})
}

// clean fails when anything of the volume is left.
func (p *pair) clean() {
	p.Helper()
	for _, n := range p.nodes {
		if d := n.disk(); d != "" {
			p.Errorf("%s: resource is still up", n.Name)
		}
		files, err := n.Files("etc/drbd.d/rvol")
		links, linkErr := n.Files("dev")
		if err != nil || linkErr != nil || len(files)+len(links) > 0 {
			p.Errorf("%s: left: %v %v %v %v", n.Name, files, links, err, linkErr)
		}
		r, err := lvm.New(n.LVM.Run).Report(p.Context())
		if err != nil {
			p.Fatal(err)
		}
		for _, lv := range r.LVs {
			if strings.HasPrefix(lv.Name, "rvol-") {
				p.Errorf("%s: LV %s is left", n.Name, lv.Name)
			}
		}
	}
}

func TestAVolumeIsFormedUsedAndRemoved(t *testing.T) {
	for _, v := range []drbd.Version{drbdtest.V84, drbdtest.V9} {
		for _, thin := range []bool{true, false} {
			kind := map[bool]string{true: "thin", false: "thick"}[thin]
			t.Run(fmt.Sprintf("%s %s", v.Kernel, kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPair(t, v, thin)
					defer p.end()
					p.form()
					p.nodes[0].give(func(d *decide.Desired) { d.Resources[0].Primary = true })
					wait(t, "Primary", func() bool { return p.nodes[0].role() == drbd.Primary })
					p.nodes[0].give(func(d *decide.Desired) { d.Resources[0].Primary = false })
					wait(t, "Secondary", func() bool { return p.nodes[0].role() == drbd.Secondary })
					p.release()
					p.clean()
				})
			})
		}
	}
}
