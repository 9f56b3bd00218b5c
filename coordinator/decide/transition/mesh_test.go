package transition_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// mesh is a formed volume with agents that obey at once: replicas are placed and prepared,
// members run the newest revision and are connected, disks are filled.
type mesh struct {
	t    *testing.T
	in   transition.Input
	seen []string // what the mesh was at each step
	hold func(*transition.Member)
}

// newMesh has so many copies and tie-breakers, on DRBD 9 unless old.
func newMesh(t *testing.T, l layout.Layout, old bool) *mesh {
	t.Helper()
	m := &mesh{t: t, hold: func(*transition.Member) {}}
	m.in = transition.Input{
		Volume: &model.Volume{Meta: model.Meta{Name: "db"}, Devices: []model.VolumeDevice{{Size: gib}}},
		Status: &model.VolumeStatus{Meta: model.Meta{Name: "db"}, Formed: true, DRBD: "9"},
		Layout: l, Now: time.Unix(1000, 0),
	}
	mesh := &m.in.Status.Datamesh
	mesh.Revision, mesh.SystemNetworks = 3, []string{"default"}
	if old {
		m.in.Status.DRBD = "8.4"
	} else if l.Quorum > 1 {
		mesh.Quorum, mesh.QuorumMinimumRedundancy = l.Quorum, l.QuorumMinimumRedundancy
	}
	for id := range l.Replicas() {
		typ := model.Diskful
		if id >= l.Diskful {
			typ = model.TieBreaker
		}
		m.add(&model.Replica{Volume: "db", ID: id, Type: typ})
		mesh.Members = append(mesh.Members, model.DatameshMember{ID: id, Type: typ, Node: m.in.Members[id].Node})
	}
	m.in.Status.NextID = l.Replicas()
	m.obey()
	return m
}

// add gives a replica its node, n0 for replica 0, and what belongs to it.
func (m *mesh) add(r *model.Replica) {
	r.Name, r.Node, r.Port = model.ReplicaName("db", r.ID), fmt.Sprintf("n%d", r.ID), 17000
	res := &model.Reservation{Meta: model.Meta{Name: "res-" + r.Node}, OwnerKind: model.OwnerReplica, Owner: r.Name, Granted: gib + 1}
	m.in.Members = append(m.in.Members, transition.Member{
		Replica: r, Reservations: []*model.Reservation{res}, Known: true, HostName: r.Node,
		Addresses: map[string]netip.Addr{"default": netip.MustParseAddr(fmt.Sprintf("10.0.0.%d", r.ID+1))},
	})
	slices.SortFunc(m.in.Members, func(a, b transition.Member) int { return a.ID - b.ID })
}

// obey lets every agent do what the state says, unless it is held.
func (m *mesh) obey() {
	for i := range m.in.Members {
		mem := &m.in.Members[i]
		if mem.Type == model.Diskful && mem.VG == "" && !mem.Deleting() {
			r := model.Clone(mem.Replica)
			r.VG, r.Devices = "vg0", []model.ReplicaDevice{{Reservation: mem.Reservations[0].Name}}
			mem.Replica = r
		}
		member, in := m.in.Status.Datamesh.Member(mem.ID)
		mem.Up, mem.Resource = true, inventory.Resource{Role: drbd.Secondary, Devices: []inventory.Device{{Disk: drbd.Diskless, Size: gib, Quorum: true}}}
		mem.State = inventory.ReplicaState{Preconfigured: !in}
		if len(mem.Devices) > 0 {
			mem.State.Backing = []inventory.Backing{{Reservation: mem.Devices[0].Reservation, LVUUID: "lv"}}
		}
		if in {
			mem.State.AppliedRevision = m.in.Status.Datamesh.Revision
		}
		if member.Type == model.Diskful {
			mem.Resource.Devices[0].Disk = drbd.UpToDate
		}
		for _, o := range m.in.Status.Datamesh.Members {
			if in && o.ID != mem.ID {
				mem.Resource.Peers = append(mem.Resource.Peers, inventory.Peer{NodeID: o.ID, Connection: drbd.Connected})
			}
		}
		m.hold(mem)
	}
}

// write carries an outcome out.
func (m *mesh) write(out transition.Outcome) {
	m.t.Helper()
	for _, o := range out.Put {
		switch o := o.(type) {
		case *model.VolumeStatus:
			m.in.Status = o
		case *model.Replica:
			i := slices.IndexFunc(m.in.Members, func(mem transition.Member) bool { return mem.ID == o.ID })
			if i < 0 {
				m.add(o)
			} else {
				m.in.Members[i].Replica = o
			}
		case *model.Reservation:
			for i := range m.in.Members {
				for k, r := range m.in.Members[i].Reservations {
					if r.Name == o.Name {
						m.in.Members[i].Reservations[k] = o
					}
				}
			}
		}
	}
	for _, o := range out.Delete {
		m.in.Members = slices.DeleteFunc(m.in.Members, func(mem transition.Member) bool { return mem.Key() == o.Key() })
	}
	m.in.Now = m.in.Now.Add(10 * time.Second)
	m.obey()
}

// begin starts a change.
func (m *mesh) begin(start func(transition.Input) (transition.Outcome, error)) {
	m.t.Helper()
	m.in.UIDs = []string{"uid-a", "uid-b", "uid-c", "uid-d", "uid-e", "uid-f"}
	out, err := start(m.in)
	if err != nil {
		m.t.Fatal(err)
	}
	m.write(out)
}

// run goes on until nothing is left to do, or something is waited for.
func (m *mesh) run() (waits string) {
	m.t.Helper()
	for range 100 {
		m.obey()
		if len(m.in.Status.Transitions) == 0 {
			return ""
		}
		before := active(m.in.Status)
		out := transition.Next(m.in)
		if !out.Changed() {
			return out.Wait
		}
		m.write(out)
		if now := active(m.in.Status); now != before && now != "" {
			m.seen = append(m.seen, now+": "+m.says())
		}
	}
	m.t.Fatalf("no end: %v", m.seen)
	return ""
}

// active is the step of the newest transition.
func active(vs *model.VolumeStatus) string {
	if len(vs.Transitions) == 0 {
		return ""
	}
	t := &vs.Transitions[len(vs.Transitions)-1]
	k := t.Active()
	if k < 0 {
		return ""
	}
	s := t.Steps[k]
	if s.Replica == nil {
		return s.Name
	}
	return fmt.Sprintf("%s %d", s.Name, *s.Replica)
}

// says is the mesh in short: "D D d A T, quorum 2, redundancy 1". d votes and has no disk.
func (m *mesh) says() string {
	letters := map[model.ReplicaType]string{
		model.Diskful: "D", model.LiminalDiskful: "d", model.Access: "A", model.TieBreaker: "T",
	}
	var parts []string
	for _, mem := range m.in.Status.Datamesh.Members {
		parts = append(parts, fmt.Sprintf("%d%s", mem.ID, letters[mem.Type]))
	}
	d := m.in.Status.Datamesh
	return fmt.Sprintf("%s, quorum %d/%d", strings.Join(parts, " "), d.Quorum, d.QuorumMinimumRedundancy)
}
