package admin

import (
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
)

// peers are the connections of the replica, as its kernel last had them.
func (r replicaView) peers(res inventory.Resource) []*adminv1.ReplicaPeer {
	var out []*adminv1.ReplicaPeer
	for _, p := range res.Peers {
		end := &adminv1.ReplicaPeer{Id: int32(p.NodeID), Connection: string(p.Connection)}
		if p.NodeID < 0 {
			end.Id = r.onlyOther()
		}
		for _, d := range p.Devices {
			describe(end, d)
		}
		out = append(out, end)
	}
	return out
}

// describe adds a device to what is told of a connection.
func describe(end *adminv1.ReplicaPeer, d inventory.PeerDevice) {
	end.OutOfSync += d.OutOfSync
	resyncing := d.Replication.Resyncing()
	further := end.SyncPercent != nil && *end.SyncPercent <= d.DonePercent
	if end.GetReplication() == "" || resyncing && !further {
		end.Replication, end.Disk = string(d.Replication), string(d.Disk)
	}
	if resyncing && !further && !d.Replication.Comparing() {
		end.SyncPercent = &d.DonePercent
	}
}

// onlyOther is the id of the one other member: DRBD 8.4 knows two, and tells of neither's id. -1 when it is not the
// only one.
func (r replicaView) onlyOther() int32 {
	other := int32(-1)
	if r.status == nil {
		return other
	}
	for _, m := range r.status.Datamesh.Members {
		switch {
		case m.ID == r.ID || m.Type == model.Access:
		case other >= 0:
			return -1
		default:
			other = int32(m.ID)
		}
	}
	return other
}
