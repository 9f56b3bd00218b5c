package steps_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/decide/desired"
	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

const (
	resource = "rvol-db"
	minor    = drbd.Minor(10000)
	size     = 4 << 20
	slow     = "128k" // resync a second: filling a disk lasts a while
)

// world is a formed volume on simulated nodes, and what its coordinator would remember.
type world struct {
	*testing.T
	fabric       *drbdtest.Fabric
	nodes        []*node
	volume       *model.Volume
	status       *model.VolumeStatus
	replicas     map[int]*model.Replica
	reservations map[string]*model.Reservation
	layout       layout.Layout
	index        uint64
	ftt, gmdr    int    // what it must bear now
	less         int    // by how much less FTT is while a change lasts
	attached     string // node
	patient      bool   // copies are UpToDate before anything is taken away
	mark         byte
	acked        map[int64]byte // what was acknowledged, by offset
}

// newWorld forms a volume of the layout on as many nodes, and attaches it on the first;
// spare nodes have nothing.
func newWorld(t *testing.T, v drbd.Version, l layout.Layout, spare int) *world {
	t.Helper()
	w := &world{
		T: t, fabric: drbdtest.NewFabric(), layout: l, acked: map[int64]byte{},
		replicas: map[int]*model.Replica{}, reservations: map[string]*model.Reservation{},
		volume: &model.Volume{Meta: model.Meta{Name: "db", UID: "vol-1"}, Devices: []model.VolumeDevice{{Size: size}}, MaxAttachments: 1},
		status: &model.VolumeStatus{
			Meta: model.Meta{Name: "db"}, DRBD: "9",
			Configuration: &model.Configuration{SystemNetworks: []string{"default"}, OnNoQuorum: drbd.IOError, DRBD: map[string]string{"resync-rate": slow}},
		},
	}
	root := t.TempDir()
	for i := range l.Replicas() + spare {
		w.nodes = append(w.nodes, newNode(t, w.fabric, i, v, root))
	}
	mesh := &w.status.Datamesh
	mesh.Revision, mesh.SystemNetworks, mesh.Devices = 2, []string{"default"}, w.volume.Devices
	if v.Is84() {
		w.status.DRBD = "8.4"
	} else if l.Quorum > 1 {
		mesh.Quorum, mesh.QuorumMinimumRedundancy = l.Quorum, l.QuorumMinimumRedundancy
	}
	for id := range l.Replicas() {
		typ := model.Diskful
		if id >= l.Diskful {
			typ = model.TieBreaker
		}
		r := &model.Replica{Meta: model.Meta{UID: fmt.Sprintf("uid-%d", id)}, Volume: "db", ID: id, Type: typ}
		w.place(r, w.nodes[id])
		n := w.nodes[id]
		mesh.Members = append(mesh.Members, model.DatameshMember{
			ID: id, Type: typ, Node: n.Name, HostName: n.Name,
			Addresses: map[string]netip.AddrPort{"default": netip.AddrPortFrom(n.address(), uint16(r.Port))},
		})
	}
	w.status.NextID = l.Replicas()
	w.tellAll()
	w.until("connected", func() string { return w.unhealthy(drbd.Inconsistent) })
	first := drbd.SkipInitialSync
	if v.Is84() && l.Replicas() == 1 {
		first = drbd.FullInitialSync // without a peer it takes nothing else
	}
	w.ok(w.nodes[0].tool().NewCurrentUUID(t.Context(), minor, first))
	w.status = model.Clone(w.status)
	w.status.Formed = true
	w.attached = w.nodes[0].Name
	w.tellAll()
	w.until("formed", func() string { return w.unhealthy(drbd.UpToDate) })
	return w
}

func (w *world) close() {
	for _, n := range w.nodes {
		if n.on {
			n.stop()
		}
	}
	w.fabric.Close()
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// place gives a replica a node, and what the scheduler would.
func (w *world) place(r *model.Replica, n *node) {
	r.Name, r.Node, r.Port = model.ReplicaName("db", r.ID), n.Name, 17000+r.ID
	r.Conditions = model.Conditions{{Type: "Scheduled", Status: model.True}}
	r.Devices = []model.ReplicaDevice{{Minor: int(minor)}}
	if r.Type == model.Diskful {
		uid := fmt.Sprintf("res-%d", r.ID)
		r.VG, r.Devices[0].Reservation = "vg0", uid
		w.reserve(uid, r, "vg0")
	}
	w.replicas[r.ID] = r
}

// reserve takes room for a replica in a volume group of its node.
func (w *world) reserve(uid string, r *model.Replica, vg string) {
	w.reservations[uid] = &model.Reservation{
		Meta: model.Meta{Name: uid}, OwnerKind: model.OwnerReplica, Owner: r.Name, State: model.Reserved,
		Pool: model.PoolID{Node: r.Node, VG: w.node(r.Node).vgs[vg]}, VGName: vg, LV: model.LVName("db", 0, r.ID),
		Granted: drbd.BackingSize(size, drbd.MaxPeers),
	}
}

func (w *world) node(name string) *node {
	return w.nodes[slices.IndexFunc(w.nodes, func(n *node) bool { return n.Name == name })]
}

// on is the replica of a node; nil: it has none.
func (w *world) on(n *node) *model.Replica {
	for _, r := range w.replicas {
		if r.Node == n.Name {
			return r
		}
	}
	return nil
}

// tell gives a node the order that follows from what there is now; tellAgain from what it
// was last told, but for where the volume is attached.
func (w *world) tell(n *node) {
	n.status = w.status
	w.tellAgain(n)
}

func (w *world) tellAgain(n *node) {
	w.Helper()
	if !n.on || n.deaf {
		return
	}
	s := desired.State{
		Cluster: &model.Cluster{ID: "c1"}, Node: &model.Node{Meta: model.Meta{Name: n.Name}},
		Status: &model.NodeStatus{Ready: true, HostName: n.Name, Addresses: map[string]netip.Addr{"default": n.address()}},
	}
	if r := w.on(n); r != nil && n.status != nil {
		s.Volumes = append(s.Volumes, desired.Volume{Volume: w.volume, Status: n.status, Secret: "secret", Replica: r, Attached: n.Name == w.attached})
	}
	for _, uid := range slices.Sorted(maps.Keys(w.reservations)) {
		if res := w.reservations[uid]; res.Pool.Node == n.Name {
			s.Reservations = append(s.Reservations, res)
		}
	}
	w.index++
	d := ordered(desired.For(s))
	d.Order.Incarnation, d.Order.Index = 1, w.index
	n.give(d)
}

func (w *world) tellAll() {
	for _, n := range w.nodes {
		w.tell(n)
	}
}

// until lets time pass until there is nothing left to say against it.
func (w *world) until(what string, why func() string) {
	w.Helper()
	if said := w.patience(why); said != "" {
		w.Fatalf("%s: waited in vain: %s\n%s", what, said, w.says())
	}
}

func (w *world) patience(why func() string) (said string) {
	for pause := 100 * time.Millisecond; pause < 10*time.Minute; pause = pause * 11 / 10 { // two hours, about
		synctest.Wait()
		w.revive()
		if said = why(); said == "" {
			return ""
		}
		time.Sleep(pause)
	}
	return said
}

// members are the nodes that are in the mesh and have power, with what they are.
func (w *world) members() map[*node]model.ReplicaType {
	out := map[*node]model.ReplicaType{}
	for _, n := range w.nodes {
		if n.status == nil || !n.on || w.on(n) == nil {
			continue
		}
		if m, ok := n.status.Datamesh.Member(w.on(n).ID); ok {
			out[n] = m.Type
		}
	}
	return out
}

// unhealthy says which member does not run what it was told, is not connected, or has
// another disk than it should; "": all are well. A disk that is being filled is well.
func (w *world) unhealthy(disk drbd.DiskState) string {
	members := w.members()
	for n, typ := range members {
		r, up := n.kernel()
		state := w.state(n)
		switch {
		case !up:
			return n.Name + " is not up: " + state.Error
		case state.AppliedRevision != n.status.Datamesh.Revision:
			return fmt.Sprintf("%s runs revision %d of %d: %s %s", n.Name, state.AppliedRevision, n.status.Datamesh.Revision, state.Step, state.Error)
		case typ == model.Diskful && r.Devices[0].Disk != disk && !w.mayFill(n):
			return fmt.Sprintf("%s is %s", n.Name, r.Devices[0].Disk)
		case n.Name == w.attached && n.status.Formed && r.Role != drbd.Primary:
			return n.Name + " is not Primary: " + state.Step
		}
		for _, p := range r.Peers {
			i := slices.IndexFunc(w.nodes, func(o *node) bool {
				r := w.on(o)
				return r != nil && (r.ID == int(p.NodeID) || p.NodeID == drbd.NoNode && o != n && members[o] != "")
			})
			if i < 0 || members[w.nodes[i]] == "" || p.Conn == drbd.Connected {
				continue
			}
			if _, mutual := w.nodes[i].status.Datamesh.Member(w.on(n).ID); mutual {
				return fmt.Sprintf("%s is %s with %s", n.Name, p.Conn, p.Name)
			}
		}
	}
	return ""
}

// mayFill says that the disk of a node is one that a plan gives data to.
func (w *world) mayFill(n *node) bool {
	for i := range w.status.Transitions {
		t := &w.status.Transitions[i]
		for _, s := range t.Steps {
			if s.Name == transition.Synchronize && s.Status != model.StepCompleted && s.Is(w.on(n).ID) {
				return true
			}
		}
	}
	return false
}

// input is what a plan would be shown.
func (w *world) input() transition.Input {
	in := transition.Input{Volume: w.volume, Status: w.status, Layout: w.layout, Now: time.Now(), UIDs: []string{
		fmt.Sprintf("uid-a%d", w.index), fmt.Sprintf("uid-b%d", w.index), fmt.Sprintf("uid-c%d", w.index),
	}}
	for _, id := range slices.Sorted(maps.Keys(w.replicas)) {
		r := w.replicas[id]
		m := transition.Member{Replica: r}
		if r.Node != "" {
			n := w.node(r.Node)
			m.HostName, m.Addresses = n.Name, map[string]netip.Addr{"default": n.address()}
			m.InUse, m.Known, m.Fenced, m.Accepted = n.Name == w.attached, n.on && !n.deaf, n.fenced, w.index
			if n.on {
				m.State = reported(w.state(n))
			}
			if k, up := n.kernel(); up {
				m.Resource, m.Up = reportedResource(k), true
			}
		}
		for _, uid := range slices.Sorted(maps.Keys(w.reservations)) {
			if res := w.reservations[uid]; res.Owner == r.Name {
				m.Reservations = append(m.Reservations, res)
			}
		}
		in.Members = append(in.Members, m)
	}
	return in
}

// take writes down what a plan wants, and gives new replicas their place.
func (w *world) take(out transition.Outcome) {
	w.Helper()
	for _, o := range out.Put {
		switch o := o.(type) {
		case *model.VolumeStatus:
			w.status = o
		case *model.Volume:
			w.volume = o
		case *model.Reservation:
			w.reservations[o.Name] = o
		case *model.Replica:
			w.replicas[o.ID] = o
			if o.Port == 0 || o.Type == model.Diskful && o.VG == "" {
				w.place(o, w.room(o))
			}
		}
	}
	for _, o := range out.Delete {
		if r, ok := o.(*model.Replica); ok {
			delete(w.replicas, r.ID)
		}
	}
}

// room is the node that a new replica goes to.
func (w *world) room(r *model.Replica) *node {
	w.Helper()
	for _, n := range w.nodes {
		if r.Node == n.Name || r.Node == "" && w.on(n) == nil {
			return n
		}
	}
	w.Fatal("no node is free")
	return nil
}

// write writes one block more, or fails.
func (w *world) write(at string) {
	w.Helper()
	if err := w.try(w.node(w.attached)); err != nil {
		w.Fatalf("%s: %v\n%s", at, err, w.says())
	}
}

// try writes a block on a node; what returns without an error is acknowledged.
func (w *world) try(n *node) error {
	w.mark++
	off := int64(w.mark%16) * 4096
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	err := n.DRBD.Write(ctx, minor, off, bytes.Repeat([]byte{w.mark}, 4096))
	if err != nil {
		delete(w.acked, off) // may be there or not
		return err
	}
	w.acked[off] = w.mark
	return nil
}

// lost says which acknowledged block cannot be read; "": none.
func (w *world) lost(read func(p []byte, off int64) error) string {
	buf := make([]byte, 4096)
	for _, off := range slices.Sorted(maps.Keys(w.acked)) {
		if err := read(buf, off); err != nil {
			return fmt.Sprintf("at %d: %v", off, err)
		}
		if buf[0] != w.acked[off] {
			return fmt.Sprintf("at %d: %d, acknowledged was %d", off, buf[0], w.acked[off])
		}
	}
	return ""
}

// says is what there is, for people.
func (w *world) says() string {
	var b strings.Builder
	fmt.Fprintf(&b, "attached on %s; %+v\n", w.attached, w.status.Transitions)
	for _, n := range w.nodes {
		if r, up := n.kernel(); up {
			fmt.Fprintf(&b, "%s: %s %s quorum %t", n.Name, r.Role, r.Devices[0].Disk, r.Devices[0].Quorum)
			for _, p := range r.Peers {
				fmt.Fprintf(&b, "; %s %s %s %s", p.Name, p.Conn, p.Devices[0].Repl, p.Devices[0].Disk)
			}
			fmt.Fprintf(&b, "; agent: %+v\n", w.state(n))
		}
	}
	return b.String()
}
