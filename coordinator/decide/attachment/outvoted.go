package attachment

import (
	"slices"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// outvoted says that a node which nobody hears of cannot acknowledge a write any more, whatever
// it does: all other members are heard of, none is connected to it, and they have quorum. DRBD
// 8.4 has no quorum.
func (d *draft) outvoted(u Use) bool {
	r, here := d.replicaOn(u.Node)
	if u.Known || !here || d.status.DRBD != "9" || d.status.Datamesh.Quorum == 0 || d.connected(r) {
		return false
	}
	quorum := false
	for _, other := range d.Replicas {
		if _, member := d.status.Datamesh.Member(other.ID); !member || other.ID == r.ID {
			continue
		}
		if !other.Known {
			return false
		}
		quorum = quorum || other.Type == model.Diskful && other.hasQuorum()
	}
	return quorum
}

// hasQuorum says that a copy is known to have quorum. One that has just lost its Primary is
// Consistent until it is asked for.
func (s Said) hasQuorum() bool {
	good := s.Resource.Disk() == drbd.UpToDate || s.Resource.Disk() == drbd.Consistent
	return s.Known && good && !slices.ContainsFunc(s.Resource.Devices, func(d inventory.Device) bool { return !d.Quorum })
}
