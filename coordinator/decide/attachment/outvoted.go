package attachment

import (
	"slices"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// outvoted says that a node which nobody hears of cannot acknowledge a write any more, whatever
// it does: a copy without it has quorum, so it has none. DRBD 8.4 has no quorum.
func (d *draft) outvoted(u Use) bool {
	r, here := d.replicaOn(u.Node)
	if u.Known || !here || d.status.DRBD != "9" || d.status.Datamesh.Quorum == 0 {
		return false
	}
	return slices.ContainsFunc(d.Replicas, func(other Replica) bool {
		return other.ID != r.ID && other.Type == model.Diskful && other.hasQuorum() && other.without(r.ID)
	})
}

// hasQuorum says that a copy is known to have quorum. One that has just lost its Primary is Consistent until it is asked for.
func (s Said) hasQuorum() bool {
	good := s.Resource.Disk() == drbd.UpToDate || s.Resource.Disk() == drbd.Consistent
	return s.Known && good && !slices.ContainsFunc(s.Resource.Devices, func(d inventory.Device) bool { return !d.Quorum })
}

// without says that the kernel has given up the connection to a replica.
func (s Said) without(id int) bool {
	return slices.ContainsFunc(s.Resource.Peers, func(p inventory.Peer) bool { return p.NodeID == id && p.Connection != drbd.Connected })
}
