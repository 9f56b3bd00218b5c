package control

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"rvol/coordinator/decide/transition"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/coordinator/state/statetest"
	"rvol/drbd"
)

// cluster is a store without Raft, all controllers, and agents that do at once what
// they are ordered, unless told otherwise. It lives in a synctest bubble.
type cluster struct {
	t     *testing.T
	store *state.Store
	inv   *inventory.Inventory

	ctx    context.Context // of the test: leaders come and go in it
	depose func()

	mu     sync.Mutex
	causes []string
	nodes  map[string]*agent
	sizes  map[string]int64 // of DRBD's devices, by volume
}

// agent is one scripted node.
type agent struct {
	session  uint64
	size     int64  // extents of vg0, 4 MiB each
	frozen   bool   // says nothing new
	lost     bool   // its DRBD sees no peer
	blind    bool   // it has not looked at its peer since the newest grant
	open     bool   // its devices are held open
	stuck    bool   // its lvextend never ends
	full     string // its lvextend fails for good, saying this
	released map[string]bool
	lvs      map[string]int64 // sizes by reservation
}

func (c *cluster) Propose(_ context.Context, t state.Txn) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	revision, err := statetest.Apply(c.store, time.Now(), t)
	if err == nil {
		c.causes = append(c.causes, t.Cause)
	}
	return revision, err
}

// newCluster starts n nodes, each with a volume group of the given number of extents.
func newCluster(t *testing.T, ctx context.Context, n int, extents int64) *cluster {
	t.Helper()
	c := &cluster{t: t, store: state.NewStore(state.Options{}), inv: inventory.New(), nodes: map[string]*agent{}, sizes: map[string]int64{}}
	cl := &model.Cluster{ID: "test", Incarnation: 1, Format: 1}
	cl.Name = model.ClusterName
	c.put(cl)
	for i := range n {
		name := fmt.Sprintf("n%d", i+1)
		node := &model.Node{}
		node.Name = name
		st := &model.NodeStatus{
			Ready: true, Epoch: 1, HostName: name,
			Addresses:    map[string]netip.Addr{"default": netip.MustParseAddr(fmt.Sprintf("10.0.0.%d", i+1))},
			Capabilities: model.Capabilities{DRBD: "8.4", DRBDFull: "8.4.11", LVM: "2.03", MaxPeers: 1},
		}
		st.Name = name
		lvg := &model.LVG{Node: name, VG: "vg0", UUID: "vg-" + name, OverProvisioningPercent: 200, StopDataPercent: 95, StopMetadataPercent: 95}
		lvg.Name = model.LVGName(name, "vg0")
		c.put(node)
		c.put(st)
		c.put(lvg)
		c.nodes[name] = &agent{size: extents, released: map[string]bool{}, lvs: map[string]int64{}}
	}
	c.ctx = ctx
	c.lead()
	for name := range c.nodes {
		go c.live(ctx, name)
	}
	return c
}

// lead lets a leader decide until the next election.
func (c *cluster) lead() {
	ctx, cancel := context.WithCancel(c.ctx)
	var run sync.WaitGroup
	run.Go(func() {
		Run(ctx, Sources{Store: c.store, Inventory: c.inv, Proposer: c, Log: slog.New(slog.DiscardHandler)},
			Node{NotReadyAfter: 15 * time.Second, Interval: 5 * time.Second}, Capacity{}, Pool{}, Class{}, Rollout{}, Volume{},
			NewScheduling(), Transition{}, Repair{}, NewResync(), Attachment{}, Verification{}, Release{})
	})
	c.depose = func() { cancel(); run.Wait() }
}

// elect ends the leader, wherever it is, and lets another lead that has heard nothing yet.
func (c *cluster) elect() {
	c.depose()
	c.inv.Reset()
	c.mu.Lock()
	for _, a := range c.nodes {
		a.session = 0
	}
	c.mu.Unlock()
	c.lead()
}

func (c *cluster) put(objs ...model.Object) {
	c.t.Helper()
	b := state.NewTxn("test", "test")
	for _, o := range objs {
		b.Put(o)
	}
	statetest.Propose(c.t, c, b)
}

// live lets an agent report every 100 ms what it would hold after obeying.
func (c *cluster) live(ctx context.Context, name string) {
	for ctx.Err() == nil {
		c.report(name)
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (c *cluster) report(name string) {
	v := c.store.View()
	c.mu.Lock()
	a := c.nodes[name]
	if a.frozen {
		c.mu.Unlock()
		return
	}
	if a.session == 0 {
		a.session = c.inv.Open(name, time.Now())
	}
	r := c.obey(v, name, a)
	session := a.session
	c.mu.Unlock()
	c.inv.Update(name, session, time.Now(), func(n *inventory.Node) {
		n.Full, n.Accepted = true, inventory.Order{Incarnation: 1, Index: v.Index()}
		n.Capabilities = model.Capabilities{DRBD: "8.4", DRBDFull: "8.4.11", LVM: "2.03", MaxPeers: 1}
		n.VGs, n.Resources, n.Replicas, n.Released = r.VGs, r.Resources, r.Replicas, r.Released
	})
}

// obey works out what the node holds once it has done what the state asks.
func (c *cluster) obey(v state.View, name string, a *agent) inventory.Node {
	vg := inventory.VG{Name: "vg0", UUID: "vg-" + name, ExtentSize: 4 << 20, Extents: a.size}
	out := inventory.Node{Replicas: map[string]inventory.ReplicaState{}, Released: map[string]bool{}}
	for r := range v.ReplicasOn(name) {
		for res := range v.ReservationsOf(model.OwnerReplica, r.Name) {
			if res.State == model.Releasing {
				a.released[res.Name] = true
				continue
			}
			vg.LVs = append(vg.LVs, inventory.LV{Name: res.LV, UUID: "lv-" + res.Name, Size: c.grow(v, a, res), Reservation: res.Name})
		}
		if r.Deleting() || !r.Conditions.Is("Scheduled", model.True) {
			continue
		}
		vs, _ := state.Get[*model.VolumeStatus](v, r.Volume)
		st := inventory.ReplicaState{Volume: r.Volume, UID: r.UID, Preconfigured: true, JustCreated: !vs.Formed}
		for _, d := range r.Devices {
			st.Backing = append(st.Backing, inventory.Backing{
				Number: d.Number, Reservation: d.Reservation, LVUUID: "lv-" + d.Reservation, LVSize: a.lvs[d.Reservation], Usable: a.lvs[d.Reservation],
			})
			if a.full != "" && transition.Growing(vs) {
				st.Error, st.ErrorClass, st.Definite = a.full, "no-space", true
			}
		}
		if _, ok := vs.Datamesh.Member(r.ID); ok {
			st.AppliedRevision = vs.Datamesh.Revision
			if !a.lost && !a.blind {
				st.TogetherRound = vs.SoleRound
			}
			out.Resources = append(out.Resources, c.resource(v, a, r, vs, &st))
		}
		out.Replicas[r.UID] = st
	}
	out.VGs = []inventory.VG{vg}
	for uid := range a.released {
		out.Released[uid] = true
	}
	return out
}

// grow lets the LV of a reservation have what it is ordered to have, and tells its size.
func (c *cluster) grow(v state.View, a *agent, res *model.Reservation) int64 {
	volume, _, _ := model.SplitReplicaName(res.Owner)
	vs, _ := state.Get[*model.VolumeStatus](v, volume)
	size := res.Granted
	if vs != nil && transition.Growing(vs) && !a.stuck && a.full == "" {
		size = max(size, res.Pending)
	}
	a.lvs[res.Name] = max(a.lvs[res.Name], size)
	return a.lvs[res.Name]
}

func (c *cluster) resource(v state.View, a *agent, r *model.Replica, vs *model.VolumeStatus, st *inventory.ReplicaState) inventory.Resource {
	op := formationOperation(v, r.Volume)
	if op != nil && op.Phase == model.OperationPending && op.Node == r.Node {
		done := model.Clone(op)
		done.Phase = model.OperationSucceeded
		b := state.NewTxn("agent/"+r.Node, "done "+op.Name).Put(done)
		txn, _ := b.Txn()
		go func() { _, _ = c.Propose(c.t.Context(), txn) }() // a lost race is tried again with the next report
	}
	disk := drbd.Inconsistent
	if vs.Formed || op != nil && op.Phase == model.OperationSucceeded {
		disk = drbd.UpToDate
	}
	res := inventory.Resource{Name: model.ResourceName(r.Volume), Role: drbd.Secondary, Devices: []inventory.Device{{Disk: disk}}}
	c.sizes[r.Volume] = max(c.sizes[r.Volume], transition.ResizeTo(vs, r.ID, 0))
	res.Devices[0].Size = c.sizes[r.Volume]
	peer := inventory.Peer{NodeID: -1, Connection: drbd.Connected, Devices: []inventory.PeerDevice{{Replication: drbd.Established, Disk: disk}}}
	if a.lost {
		peer.Connection, peer.Devices[0].Replication, peer.Devices[0].Disk = drbd.Connecting, drbd.Off, drbd.DUnknown
	}
	if len(vs.Datamesh.Members) > 1 {
		res.Peers = []inventory.Peer{peer}
	}
	node, _ := state.Get[*model.Node](v, r.Node)
	if at, ok := state.Get[*model.Attachment](v, model.AttachmentName(r.Volume, r.Node)); ok && at.Granted && node.Fenced == nil {
		switch {
		case !at.Deleting():
			res.Role = drbd.Primary
		case a.open:
			res.Role, st.Error, st.ErrorClass = drbd.Primary, "in use by mount (pid 12)", "in-use"
		}
	}
	return res
}

// change alters an agent under the lock.
func (c *cluster) change(name string, f func(*agent)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.nodes[name])
}

// class makes a class over vg0 and a volume of the given size in it.
func (c *cluster) class(name string, ftt, gmdr int) {
	cl := &model.Class{
		FTT: ftt, GMDR: gmdr, Topology: model.TopologyIgnored, VolumeAccess: model.AccessPreferablyLocal,
		Storage: &model.Storage{Type: model.LVM, VGs: []string{"vg0"}}, SystemNetworks: []string{"default"},
		NotReadyGrace: model.DefaultNotReadyGrace, TrustZeroed: true, Rollout: model.RolloutRollingUpdate, Conflict: model.ConflictManual,
	}
	cl.Name, cl.Generation = name, 1
	c.put(cl)
}

func (c *cluster) volume(name, class string, size int64) {
	v := &model.Volume{Class: class, Devices: []model.VolumeDevice{{Size: size}}, MaxAttachments: 1}
	v.Name, v.UID = name, "uid-"+name
	c.put(v)
}

func (c *cluster) status(volume string) *model.VolumeStatus {
	vs, ok := state.Get[*model.VolumeStatus](c.store.View(), volume)
	if !ok {
		return &model.VolumeStatus{}
	}
	return vs
}

// within lets time pass until ok holds, and fails after d.
func (c *cluster) within(d time.Duration, what string, ok func(state.View) bool) {
	c.t.Helper()
	for end := time.Now().Add(d); ; time.Sleep(50 * time.Millisecond) {
		if ok(c.store.View()) {
			return
		}
		if time.Now().After(end) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.t.Fatalf("after %v still not: %s\nlog:\n%s", d, what, lines(c.causes))
		}
	}
}

func lines(s []string) string {
	out := ""
	for _, l := range s {
		out += "  " + l + "\n"
	}
	return out
}
