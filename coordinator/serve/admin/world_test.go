package admin

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"rvol/coordinator/audit"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	"rvol/coordinator/state/statetest"
	"rvol/drbd"
	"rvol/proto/identity"
)

// world is the API over a store without Raft.
type world struct {
	*api
	t      *testing.T
	ctx    context.Context // of a call by admin/anna
	ca     *identity.CA
	sealed identity.SealingKey
	inv    *inventory.Inventory
	lost   chan struct{}    // closed: this coordinator leads no more
	lapsed map[string]error // by name of machine

	mu    sync.Mutex
	trail fakeTrail
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ca, err := identity.NewCA("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ca: ca, sealed: identity.NewSealingKey(), inv: inventory.New(), lost: make(chan struct{}), lapsed: map[string]error{}}
	w.trail.grown = make(chan struct{})
	w.ctx = w.as(identity.Admin, "")
	w.api = newAPI(Config{
		Name: "c1", Store: state.NewStore(state.Options{Sink: &w.trail}), Inventory: w.inv, Proposer: w, Trail: &w.trail,
		Office: enroll.Office{Sealing: w.sealed},
		Lapse:  func(id identity.ID) error { return w.lapsed[id.Name] },
		Leadership: func() door.Leadership {
			return door.Leadership{Leading: true, Leader: "c1", Addr: "c1:7170", Changed: w.lost}
		},
	})
	key, err := ca.Seal(w.sealed)
	if err != nil {
		t.Fatal(err)
	}
	c := &model.Cluster{ID: "test", Incarnation: 1, Format: state.MaxFormat, CA: string(identity.EncodeCertificates(ca.Certificate())), CAKey: key}
	c.Name = model.ClusterName
	w.put(c)
	return w
}

// as is the context of a call by anna in some role.
func (w *world) as(role identity.Role, requestID string) context.Context {
	c := door.Caller{ID: identity.ID{Cluster: "test", Role: role, Name: "anna"}, RequestID: requestID}
	if requestID != "" {
		c.RequestHash = "hash of what anna asked"
	}
	return door.With(w.t.Context(), c)
}

// Propose applies a transaction at once.
func (w *world) Propose(_ context.Context, t state.Txn) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return statetest.Apply(w.Store, time.Now(), t)
}

// put stores objects as they are.
func (w *world) put(objects ...model.Object) {
	w.t.Helper()
	statetest.Put(w.t, w, objects...)
}

func get[T model.Object](w *world, name string) (T, bool) { return state.Get[T](w.Store.View(), name) }

// node is a Ready node with a session.
func (w *world) node(name string) {
	w.t.Helper()
	n := &model.Node{}
	n.Name = name
	st := &model.NodeStatus{
		Ready: true, Epoch: 1, HostName: name, Addresses: map[string]netip.Addr{"default": netip.MustParseAddr("10.0.0.1")},
		Capabilities: model.Capabilities{DRBD: "8.4", DRBDFull: "8.4.11", LVM: "2.03", Thin: true},
	}
	st.Name = name
	i := &model.Identity{Kind: "agent", Subject: name}
	i.Name = "key-of-" + name
	w.put(n, st, i)
	w.report(name, func(n *inventory.Node) { n.Full = true })
}

// report opens a session of a node, if there is none, and changes what is known of it.
func (w *world) report(name string, change func(*inventory.Node)) {
	w.t.Helper()
	session := uint64(0)
	if n := w.inv.View().Node(name); n != nil && n.Connected {
		session = n.Session
	} else {
		session = w.inv.Open(name, time.Now())
	}
	w.inv.Update(name, session, time.Now(), change)
}

const extent = 4 << 20

// group makes a node report a volume group with a thin pool tp, of so many extents each.
func (w *world) group(node, vg string, extents int64) {
	w.t.Helper()
	w.report(node, func(n *inventory.Node) {
		n.VGs = append(n.VGs, inventory.VG{
			Name: vg, UUID: "uuid-" + vg, ExtentSize: extent, Extents: extents, FreeExtents: extents,
			ThinPools: []inventory.ThinPool{{Name: "tp", UUID: "uuid-tp", Size: extents * extent}},
		})
	})
}

// offer makes a node hold an LVG whose size is committed.
func (w *world) offer(node, vg string, extents int64) {
	w.t.Helper()
	l := &model.LVG{Node: node, VG: vg, UUID: "uuid-" + vg, OverProvisioningPercent: 200, StopDataPercent: 95, StopMetadataPercent: 95}
	l.Name = model.LVGName(node, vg)
	pool, _ := l.Pool("")
	c := &model.Capacity{Pool: pool, VGName: vg, ExtentSize: extent, Extents: extents, Percent: 100}
	c.Name = pool.String()
	w.put(l, c)
}

// class is a class r2 whose pool p has the volume group vg0 of the nodes.
func (w *world) class(nodes ...string) {
	w.t.Helper()
	c := &model.Class{FTT: 1, Pool: "p", Topology: model.TopologyIgnored}
	c.Name = "r2"
	p := &model.Pool{Storage: model.Storage{Type: model.LVM, VGs: []string{"vg0"}}}
	p.Name = "p"
	ps := &model.PoolStatus{UsedBy: []string{"r2"}}
	ps.Name = "p"
	for _, n := range nodes {
		ps.EligibleNodes = append(ps.EligibleNodes, model.EligibleNode{
			Node: n, NodeReady: true, AgentReady: true, DRBD: "8.4",
			LVGs: []model.EligibleLVG{{VG: "vg0", Pool: model.PoolID{Node: n, VG: "uuid-vg0"}, Ready: true}},
		})
	}
	cs := &model.ClassStatus{Configuration: &model.Configuration{FTT: 1, Pool: "p", PoolType: model.LVM}, ConfigurationGeneration: 1, PoolName: "p"}
	cs.Name = "r2"
	w.put(c, p, ps, cs)
}

// formed is a volume of two copies on DRBD 8.4, replica i on the i-th node, both UpToDate.
func (w *world) formed(name string, nodes ...string) {
	w.t.Helper()
	vol := &model.Volume{Class: "r2", Devices: []model.VolumeDevice{{Size: 1 << 30}}, MaxAttachments: 1}
	vol.Name, vol.UID = name, "uid-"+name
	vs := &model.VolumeStatus{Formed: true, DRBD: "8.4", Configuration: &model.Configuration{FTT: 1, Pool: "p"}}
	vs.Name = name
	vs.Datamesh.Revision = 3
	objects := []model.Object{vol, vs}
	for i, n := range nodes {
		r := &model.Replica{Volume: name, ID: i, Type: model.Diskful, Node: n, VG: "vg0", Devices: []model.ReplicaDevice{{Minor: 10000 + i}}}
		r.Name, r.UID = model.ReplicaName(name, i), name+"-uid-"+n
		vs.Datamesh.Members = append(vs.Datamesh.Members, model.DatameshMember{ID: i, Type: model.Diskful, Node: n})
		objects = append(objects, r)
	}
	w.put(objects...)
	for i, n := range nodes {
		w.resource(n, name, func(r *inventory.Resource) { r.NodeID = i })
	}
}

// forming puts a volume in the place of a formed one: nothing makes a formed one that again.
func (w *world) forming(volume string, formation *model.Transition) {
	w.t.Helper()
	old, _ := get[*model.VolumeStatus](w, volume)
	gone, err := state.NewTxn("test", "forming").Delete(old).Txn()
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.Propose(w.t.Context(), gone); err != nil {
		w.t.Fatal(err)
	}
	vs := model.Clone(old)
	vs.Revision, vs.Formed, vs.Formation = 0, false, formation
	w.put(vs)
}

// resource changes what a node reports of a volume; it begins Secondary, UpToDate, connected.
func (w *world) resource(node, volume string, change func(*inventory.Resource)) {
	w.t.Helper()
	w.report(node, func(n *inventory.Node) {
		res, ok := n.Resource(model.ResourceName(volume))
		if !ok {
			res = inventory.Resource{
				Name: model.ResourceName(volume), Role: drbd.Secondary,
				Devices: []inventory.Device{{Disk: drbd.UpToDate}},
				Peers:   []inventory.Peer{{NodeID: -1, Connection: drbd.Connected, Devices: []inventory.PeerDevice{{Replication: drbd.Established, Disk: drbd.UpToDate}}}},
			}
		}
		res.Devices = append([]inventory.Device(nil), res.Devices...)
		res.Peers = append([]inventory.Peer(nil), res.Peers...)
		for i := range res.Peers {
			res.Peers[i].Devices = append([]inventory.PeerDevice(nil), res.Peers[i].Devices...)
		}
		change(&res)
		var all []inventory.Resource
		for _, r := range n.Resources {
			if r.Name != res.Name {
				all = append(all, r)
			}
		}
		n.Resources = append(all, res)
		states := map[string]inventory.ReplicaState{}
		maps.Copy(states, n.Replicas)
		uid := volume + "-uid-" + node
		states[uid] = inventory.ReplicaState{
			Volume: volume, UID: uid, AppliedRevision: 3, Preconfigured: true, Backing: []inventory.Backing{{LVUUID: "lv-" + uid}},
		}
		n.Replicas = states
	})
}

// attached is a granted attachment.
func (w *world) attached(volume, node string) {
	w.t.Helper()
	a := &model.Attachment{Volume: volume, Node: node, Granted: true}
	a.Name = model.AttachmentName(volume, node)
	w.put(a)
	w.resource(node, volume, func(r *inventory.Resource) { r.Role = drbd.Primary })
}

// refused checks why a call was refused, and that it says what to do.
func refused(t *testing.T, err, kind error, says ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want it %v", err, kind)
		return
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("got %q, want it to say %q", err, s)
		}
	}
}

// fakeTrail keeps headers in memory.
type fakeTrail struct {
	mu      sync.Mutex
	headers []state.Header
	first   uint64
	damage  error // what Verify finds
	grown   chan struct{}
}

func (f *fakeTrail) Append(entry []state.Header) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.headers = append(f.headers, entry...)
	close(f.grown)
	f.grown = make(chan struct{})
}

func (f *fakeTrail) Sync() {}

func (f *fakeTrail) Read(from uint64, limit int) ([]state.Header, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if from < f.first {
		return nil, model.ErrCompacted
	}
	var out []state.Header
	for _, h := range f.headers {
		if h.Index >= from && len(out) < limit {
			out = append(out, h)
		}
	}
	return out, nil
}

func (f *fakeTrail) Verify() (audit.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := audit.Report{Headers: len(f.headers)}
	if r.Headers > 0 {
		newest := f.headers[r.Headers-1]
		r.First, r.Last, r.Chain = f.headers[0].Index, newest.Index, newest.Hash
	}
	return r, f.damage
}

func (f *fakeTrail) First() uint64 { return f.first }

func (f *fakeTrail) Last() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.headers) == 0 {
		return 0
	}
	return f.headers[len(f.headers)-1].Index
}

func (f *fakeTrail) Wait(ctx context.Context, after uint64) error {
	for {
		last := f.Last()
		f.mu.Lock()
		grown := f.grown
		f.mu.Unlock()
		if last > after {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
