package transition

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"rvol/coordinator/model"
	"rvol/drbd"
)

// JoinMesh makes a replica a member, known to all others; LeaveMesh takes one out, whose
// bitmap slot every copy then frees; ReleaseReplica gives back its place.
const (
	JoinMesh       = "JoinMesh"
	LeaveMesh      = "LeaveMesh"
	ReleaseReplica = "ReleaseReplica"
)

var joinMesh = step{
	name: JoinMesh, guards: []guard{roomInMesh, resyncSlots}, enter: join,
	concerns: everybody, confirm: joined, slow: time.Minute,
}

var leaveMesh = step{
	name: LeaveMesh, guards: []guard{notInUse, copiesStay}, enter: leave,
	concerns: everybody, confirm: applied, slow: time.Minute,
}

var releaseReplica = step{name: ReleaseReplica, guards: []guard{notInUse, isNoMember}, enter: release}

// everybody: all members must confirm. A Primary without disk sends its writes to all
// copies itself: one that does not know a copy would leave it behind.
func everybody(a at, m Member) bool { return a.part(m.ID) != "" }

// roomInMesh protects the metadata of all copies: they have slots for 7 other copies, and
// DRBD 8.4 has one peer.
func roomInMesh(a at) string {
	disks, limit := 0, model.MaxDiskful
	for _, m := range a.mesh() {
		disks += b01(a.part(m.ID) == model.Diskful || a.part(m.ID) == model.LiminalDiskful)
	}
	if a.old84() {
		limit = 2
	}
	if typ := a.stored().Type; (typ == model.Diskful || a.subject().Type == model.Diskful) && disks >= limit {
		return fmt.Sprintf("it has %d copies: a mesh holds %d", disks, limit)
	}
	return ""
}

func b01(b bool) int {
	if b {
		return 1
	}
	return 0
}

func join(a at, d *draft) {
	m := a.subject()
	member := model.DatameshMember{
		ID: m.ID, Type: a.stored().Type, Node: m.Node, HostName: m.HostName, Zone: m.Zone, Addresses: map[string]netip.AddrPort{},
	}
	for _, net := range a.Status.Datamesh.SystemNetworks {
		member.Addresses[net] = netip.AddrPortFrom(m.Addresses[net], uint16(m.Port))
	}
	mesh := &d.status.Datamesh
	mesh.Members = slices.DeleteFunc(mesh.Members, func(o model.DatameshMember) bool { return o.ID == m.ID })
	mesh.Members = append(mesh.Members, member)
	slices.SortFunc(mesh.Members, func(x, y model.DatameshMember) int { return cmp.Compare(x.ID, y.ID) })
	mesh.Forget = slices.DeleteFunc(mesh.Forget, func(id int) bool { return id == m.ID })
	d.revise()
}

// applied confirms when the member's node runs the revision of the step.
func applied(a at, m Member) string {
	switch want := a.stored().Revision; {
	case m.State.AppliedRevision >= want:
		return ""
	case m.State.Error != "":
		return m.State.Error
	case m.State.Step != "":
		return fmt.Sprintf("waiting for revision %d: %s", want, m.State.Step)
	default:
		return fmt.Sprintf("waiting for revision %d, it runs %d", want, m.State.AppliedRevision)
	}
}

// joined confirms when everybody knows the newcomer, and it is connected with all it will
// ever have to be connected with.
func joined(a at, m Member) string {
	if why := applied(a, m); why != "" || !a.stored().Is(m.ID) {
		return why
	}
	return unconnected(a.Input, m)
}

// unconnected says with whom a member is not connected. Members without a disk need no
// word with each other.
func unconnected(in Input, m Member) string {
	for _, o := range in.mesh() {
		if o.ID == m.ID || !m.holds(in) && !o.holds(in) || in.excused(o) {
			continue
		}
		if c := m.connection(o.ID); c != drbd.Connected {
			return fmt.Sprintf("not connected to replica %s: %s", name(o), cmp.Or(string(c), "no connection"))
		}
	}
	return ""
}

// holds says that a member has a disk, or is on its way to one.
func (m Member) holds(in Input) bool {
	typ := in.part(m.ID)
	return typ == model.Diskful || typ == model.LiminalDiskful || m.Type == model.Diskful
}

// connection is how the member's kernel sees its link to a replica. DRBD 8.4 has one peer
// and does not say which.
func (m Member) connection(id int) drbd.ConnState {
	for _, p := range m.Resource.Peers {
		if p.NodeID == id || p.NodeID == int(drbd.NoNode) {
			return p.Connection
		}
	}
	return ""
}

// notInUse protects who uses the volume on that node: its device would be taken from under it.
func notInUse(a at) string {
	if m := a.subject(); m.InUse || m.Up && m.Resource.Role == drbd.Primary {
		return fmt.Sprintf("replica %s is in use on its node: detach the volume from %s first", name(m), m.Node)
	}
	return ""
}

// isNoMember protects the copy: what is a member is never released.
func isNoMember(a at) string {
	if id := a.stored().Replica; id != nil && a.part(*id) != "" {
		return fmt.Sprintf("replica %d is still a member", *id)
	}
	return ""
}

// copiesStay protects the data where a copy leaves at once, as on DRBD 8.4: what stays must
// be UpToDate, or nothing is left of what was acknowledged.
func copiesStay(a at) string {
	id := a.stored().Replica
	if id == nil || a.part(*id) != model.Diskful {
		return ""
	}
	return tooFewCopies(a.Input, *id)
}

func leave(a at, d *draft) {
	id, mesh := *a.stored().Replica, &d.status.Datamesh
	had := a.part(id)
	mesh.Members = slices.DeleteFunc(mesh.Members, func(m model.DatameshMember) bool { return m.ID == id })
	if !slices.Contains(mesh.Forget, id) && !a.old84() {
		mesh.Forget = append(mesh.Forget, id)
		slices.Sort(mesh.Forget)
	}
	if a.old84() && had == model.Diskful && len(mesh.Members) == 1 && a.Layout.Diskful > 1 {
		d.status.GoesAlone(mesh.Members[0].ID) // until another copy is UpToDate
	}
	d.revise()
}

// release marks the replica for deletion and its reservations for release; the records go
// when the agent has proven the volumes gone.
func release(a at, d *draft) {
	m := a.subject()
	if m.ID < 0 || m.Deleting() {
		return
	}
	if m.Node == "" {
		d.del = append(d.del, m.Replica)
		return
	}
	r := model.Clone(m.Replica)
	r.DeletingSince = a.Now
	d.put = append(d.put, r)
	d.releaseAll(m, func(*model.Reservation) bool { return true })
}
