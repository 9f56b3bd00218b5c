package steps_test

import (
	"rvol/agent/decide"
	"rvol/coordinator/decide/desired"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// ordered is an order as its agent reads it.
func ordered(o desired.Order) decide.Desired {
	d := decide.Desired{Cluster: o.Cluster}
	for _, r := range o.Resources {
		d.Resources = append(d.Resources, orderedResource(r))
	}
	for _, r := range o.Releases {
		d.Releases = append(d.Releases, decide.Release{
			Reservation: r.Name, Volume: r.Volume, Resource: model.ResourceName(r.Volume), ReplicaUID: r.ReplicaUID,
			VG: r.VGName, VGUUID: r.Pool.VG, ThinPool: r.ThinPool, LV: r.LV, LVUUID: r.LVUUID,
		})
	}
	return d
}

func orderedResource(r desired.Resource) decide.Resource {
	out := decide.Resource{
		Volume: r.Volume, VolumeUID: r.VolumeUID, Name: model.ResourceName(r.Volume),
		ReplicaID: drbd.NodeID(r.Replica.ID), ReplicaUID: r.Replica.UID, Type: decide.ReplicaType(r.Type),
		Primary: r.Primary, Member: r.Member, Revision: r.Revision, Formed: r.Formed,
		HostName: r.HostName, Port: r.Replica.Port, Addresses: r.Addresses, Secret: drbd.Secret(r.Secret),
		Quorum: r.Quorum, QuorumMinimumRedundancy: r.QuorumMinimumRedundancy, TwoPrimaries: r.TwoPrimaries,
		OnNoQuorum: r.OnNoQuorum, Options: r.Options, MaxPeers: r.MaxPeers, DRBD: r.DRBD, SoleRound: r.SoleRound,
	}
	for _, id := range r.Forget {
		out.Forget = append(out.Forget, drbd.NodeID(id))
	}
	for _, d := range r.Devices {
		dev := decide.Device{Number: d.Number, Minor: drbd.Minor(d.Minor), Size: d.Size, ResizeTo: d.ResizeTo}
		if b := d.Backing; b != nil {
			dev.Backing = &decide.Backing{
				Reservation: b.Name, VG: b.VGName, VGUUID: b.Pool.VG, LV: b.LV, LVUUID: b.LVUUID, Size: d.BackingSize, Wipe: d.Wipe,
			}
		}
		out.Devices = append(out.Devices, dev)
	}
	for _, m := range r.Peers {
		p := decide.Peer{ID: drbd.NodeID(m.ID), Type: decide.ReplicaType(m.Type), Node: m.Node, HostName: m.HostName, Addresses: map[string]string{}}
		for network, a := range m.Addresses {
			p.Addresses[network], p.Port = a.Addr().String(), int(a.Port())
		}
		out.Peers = append(out.Peers, p)
	}
	return out
}

// reported is what an agent says of its replica, as a coordinator reads it.
func reported(s decide.ReplicaState) inventory.ReplicaState {
	out := inventory.ReplicaState{
		Volume: s.Volume, UID: s.ReplicaUID, AppliedRevision: s.AppliedRevision, Preconfigured: s.Preconfigured,
		JustCreated: s.JustCreated, Step: s.Step, Error: s.Error, ErrorClass: s.ErrorClass, Definite: s.Definite,
		TogetherRound: s.TogetherRound,
	}
	for _, b := range s.Backing {
		out.Backing = append(out.Backing, inventory.Backing{
			Number: b.Number, Reservation: b.Reservation, LVUUID: b.LVUUID, LVSize: b.LVSize, Usable: b.Usable,
		})
	}
	return out
}

func reportedResource(r drbd.Resource) inventory.Resource {
	out := inventory.Resource{Name: r.Name, NodeID: int(r.NodeID), Role: r.Role}
	for _, d := range r.Devices {
		out.Devices = append(out.Devices, inventory.Device{Number: d.Volume, Minor: int(d.Minor), Disk: d.Disk, Quorum: d.Quorum, Size: d.Size})
	}
	for _, p := range r.Peers {
		peer := inventory.Peer{Name: p.Name, NodeID: int(p.NodeID), Connection: p.Conn, Role: p.Role}
		for _, d := range p.Devices {
			peer.Devices = append(peer.Devices, inventory.PeerDevice{Number: d.Volume, Replication: d.Repl, Disk: d.Disk, OutOfSync: d.OutOfSync})
		}
		out.Peers = append(out.Peers, peer)
	}
	return out
}
