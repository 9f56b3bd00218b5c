package session

import (
	"errors"

	"google.golang.org/protobuf/types/known/timestamppb"

	"rvol/agent/decide"
	"rvol/drbd"
	agentv1 "rvol/proto/agent/v1"
)

// desiredIn reads an order.
func desiredIn(m *agentv1.Desired) (decide.Desired, error) {
	if m.Order == nil {
		return decide.Desired{}, errors.New("order without a place in history")
	}
	d := decide.Desired{
		Order:   decide.Order{Incarnation: m.Order.Incarnation, Index: m.Order.Index},
		Cluster: m.Cluster, Fenced: m.Fenced, Hold: m.Hold, Coordinators: m.Coordinators,
	}
	for _, r := range m.Resources {
		d.Resources = append(d.Resources, resourceIn(r))
	}
	for _, r := range m.Releases {
		d.Releases = append(d.Releases, decide.Release{
			Reservation: r.Reservation, Volume: r.Volume, Resource: r.Resource, ReplicaUID: r.ReplicaUid,
			VG: r.Vg, VGUUID: r.VgUuid, ThinPool: r.ThinPool, LV: r.Lv, LVUUID: r.LvUuid,
		})
	}
	for _, o := range m.Operations {
		d.Operations = append(d.Operations, operationIn(o))
	}
	for _, p := range m.Pools {
		d.Pools = append(d.Pools, decide.Pool{VG: p.Vg, VGUUID: p.VgUuid, ThinPools: p.ThinPools})
	}
	return d, nil
}

func resourceIn(m *agentv1.DesiredResource) decide.Resource {
	r := decide.Resource{
		Volume: m.Volume, VolumeUID: m.VolumeUid, Name: m.Name,
		ReplicaID: drbd.NodeID(m.ReplicaId), ReplicaUID: m.ReplicaUid, Type: decide.ReplicaType(m.Type),
		Down: m.Down, Primary: m.Primary, Member: m.Member, Revision: m.Revision, Formed: m.Formed,
		HostName: m.HostName, Port: int(m.Port), Addresses: m.Addresses, Secret: drbd.Secret(m.Secret),
		Quorum: int(m.Quorum), QuorumMinimumRedundancy: int(m.QuorumMinimumRedundancy),
		TwoPrimaries: m.TwoPrimaries, OnNoQuorum: m.OnNoQuorum, Options: m.Options,
		MaxPeers: int(m.MaxPeers), DRBD: m.Drbd, SoleRound: m.SoleRound, Retry: m.Retry,
	}
	for _, id := range m.Forget {
		r.Forget = append(r.Forget, drbd.NodeID(id))
	}
	for _, d := range m.Devices {
		dev := decide.Device{Number: int(d.Number), Minor: drbd.Minor(d.Minor), Size: d.Size, ResizeTo: d.ResizeTo}
		if b := d.Backing; b != nil {
			dev.Backing = &decide.Backing{
				Reservation: b.Reservation, VG: b.Vg, VGUUID: b.VgUuid, ThinPool: b.ThinPool,
				LV: b.Lv, LVUUID: b.LvUuid, Size: b.Size, Wipe: b.Wipe,
			}
		}
		r.Devices = append(r.Devices, dev)
	}
	for _, p := range m.Peers {
		r.Peers = append(r.Peers, decide.Peer{
			ID: drbd.NodeID(p.Id), Type: decide.ReplicaType(p.Type), Node: p.Node,
			HostName: p.HostName, Port: int(p.Port), Addresses: p.Addresses,
		})
	}
	return r
}

func operationIn(m *agentv1.OperationGrant) decide.Operation {
	o := decide.Operation{ID: m.Id, Type: m.Type, Volume: m.Volume, ReplicaUID: m.ReplicaUid}
	if n := m.NewUuid; n != nil {
		o.NewUUID = &decide.NewUUID{ClearBitmap: n.ClearBitmap, Revision: n.Revision, LVUUIDs: n.LvUuids}
		for _, id := range n.Peers {
			o.NewUUID.Peers = append(o.NewUUID.Peers, drbd.NodeID(id))
		}
	}
	if v := m.CreateVg; v != nil {
		o.CreateVG = &decide.CreateVG{VG: v.Vg, Device: v.Device, ThinPool: v.ThinPool}
	}
	if w := m.WithPeer; w != nil {
		o.WithPeer = &decide.WithPeer{Peer: drbd.NodeID(w.Peer)}
		for _, g := range w.Generations {
			o.WithPeer.Generations = append(o.WithPeer.Generations, drbd.UUID(g))
		}
	}
	return o
}

func orderOut(o decide.Order) *agentv1.Order {
	return &agentv1.Order{Incarnation: o.Incarnation, Index: o.Index}
}

func helloOut(h decide.Hello) *agentv1.Hello {
	return &agentv1.Hello{
		Node: h.Node, HostName: h.HostName, MachineId: h.MachineID, BootId: h.BootID, AgentVersion: h.AgentVersion,
		Kernel: h.Kernel, Addresses: h.Addresses, Capabilities: capabilitiesOut(h.Capabilities), Accepted: orderOut(h.Accepted),
		Missing: h.Missing, Health: h.Health, HealthError: h.HealthError,
	}
}

func capabilitiesOut(c decide.Capabilities) *agentv1.Capabilities {
	return &agentv1.Capabilities{
		Drbd: c.DRBD, DrbdFull: c.DRBDFull, DrbdReason: c.DRBDReason, MaxPeers: int32(c.MaxPeers),
		Lvm: c.LVM, LvmReason: c.LVMReason, Thin: c.Thin, ThinReason: c.ThinReason,
	}
}

// reportOut writes a full report.
func reportOut(r decide.Report) *agentv1.Report {
	out := &agentv1.Report{
		Storage:      storageOut(r),
		Resources:    &agentv1.Resources{Error: r.DRBDError, Files: r.Files},
		Replicas:     &agentv1.Replicas{Released: r.Released},
		Conditions:   &agentv1.Conditions{},
		Capabilities: capabilitiesOut(r.Capabilities),
		Addresses:    &agentv1.Addresses{ByNetwork: r.Addresses},
		Accepted:     orderOut(r.Accepted),
		Kept:         &agentv1.Kept{},
	}
	for _, k := range r.Kept {
		out.Kept.Resources = append(out.Kept.Resources, keptOut(k))
	}
	for _, res := range r.Resources {
		out.Resources.Resources = append(out.Resources.Resources, resourceOut(res, r.DRBD84))
	}
	for _, s := range r.Replicas {
		out.Replicas.Replicas = append(out.Replicas.Replicas, stateOut(s))
	}
	for _, c := range r.Conditions {
		out.Conditions.Conditions = append(out.Conditions.Conditions, &agentv1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
	}
	return out
}

// keptOut writes what is needed to take a resource back.
func keptOut(r decide.Resource) *agentv1.DesiredResource {
	out := &agentv1.DesiredResource{
		Volume: r.Volume, VolumeUid: r.VolumeUID, Name: r.Name, ReplicaId: int32(r.ReplicaID), ReplicaUid: r.ReplicaUID,
		Type: string(r.Type), Member: r.Member, Revision: r.Revision, Formed: r.Formed, HostName: r.HostName,
		Port: int32(r.Port), Addresses: r.Addresses, Secret: string(r.Secret), Drbd: r.DRBD, SoleRound: r.SoleRound,
		Quorum: int32(r.Quorum), QuorumMinimumRedundancy: int32(r.QuorumMinimumRedundancy), TwoPrimaries: r.TwoPrimaries,
	}
	for _, d := range r.Devices {
		dev := &agentv1.DesiredDevice{Number: int32(d.Number), Minor: int32(d.Minor), Size: d.Size}
		if b := d.Backing; b != nil {
			dev.Backing = &agentv1.Backing{
				Reservation: b.Reservation, Vg: b.VG, VgUuid: b.VGUUID, ThinPool: b.ThinPool, Lv: b.LV, LvUuid: b.LVUUID, Size: b.Size,
			}
		}
		out.Devices = append(out.Devices, dev)
	}
	for _, p := range r.Peers {
		out.Peers = append(out.Peers, &agentv1.DesiredPeer{
			Id: int32(p.ID), Type: string(p.Type), Node: p.Node, HostName: p.HostName, Port: int32(p.Port), Addresses: p.Addresses,
		})
	}
	return out
}

func storageOut(r decide.Report) *agentv1.Storage {
	out := &agentv1.Storage{Error: r.StorageError}
	for _, g := range r.VGs {
		vg := &agentv1.VG{
			Name: g.Name, Uuid: g.UUID, ExtentSize: g.ExtentSize, Extents: g.Extents,
			FreeExtents: g.FreeExtents, ForeignExtents: g.ForeignExtents, Partial: g.Partial,
		}
		for _, p := range g.ThinPools {
			vg.ThinPools = append(vg.ThinPools, &agentv1.ThinPool{
				Name: p.Name, Uuid: p.UUID, Size: p.Size, DataPercent: p.DataPercent, MetadataPercent: p.MetadataPercent,
				Zeroes: p.Zeroes, ErrorWhenFull: p.ErrorWhenFull,
			})
		}
		for _, v := range r.LVs {
			if v.VGUUID == g.UUID {
				vg.Lvs = append(vg.Lvs, &agentv1.LV{
					Name: v.Name, Uuid: v.UUID, Size: v.Size, ThinPool: v.ThinPool, Active: v.Active, Open: v.Open,
					Reservation: v.Reservation, Cluster: v.Cluster,
				})
			}
		}
		out.Vgs = append(out.Vgs, vg)
	}
	return out
}

func resourceOut(r drbd.Resource, is84 bool) *agentv1.Resource {
	out := &agentv1.Resource{Name: r.Name, NodeId: int32(r.NodeID), Role: string(r.Role), Suspended: suspended(r.Suspended)}
	for _, d := range r.Devices {
		out.Devices = append(out.Devices, &agentv1.Device{
			Number: int32(d.Volume), Minor: int32(d.Minor), Disk: string(d.Disk), Quorum: d.Quorum,
			Size: d.Size, Open: d.Open == drbd.Yes,
		})
	}
	for _, p := range r.Peers {
		peer := &agentv1.Peer{Name: p.Name, NodeId: int32(p.NodeID), Connection: string(p.Conn), Role: string(p.Role)}
		if is84 {
			peer.Name, peer.NodeId = "", int32(drbd.NoNode)
		}
		for _, d := range p.Devices {
			peer.Devices = append(peer.Devices, &agentv1.PeerDevice{
				Number: int32(d.Volume), Replication: string(d.Repl), Disk: string(d.Disk), OutOfSync: d.OutOfSync, DonePercent: d.Done,
			})
		}
		out.Peers = append(out.Peers, peer)
	}
	return out
}

func suspended(s drbd.Suspended) string {
	switch {
	case s.User:
		return "user"
	case s.NoData:
		return "no-data"
	case s.Fencing:
		return "fencing"
	case s.Quorum:
		return "quorum"
	}
	return "no"
}

func stateOut(s decide.ReplicaState) *agentv1.ReplicaState {
	out := &agentv1.ReplicaState{
		Volume: s.Volume, ReplicaUid: s.ReplicaUID, AppliedRevision: s.AppliedRevision, Preconfigured: s.Preconfigured,
		JustCreated: s.JustCreated, Step: s.Step, Error: s.Error, ErrorClass: s.ErrorClass, Definite: s.Definite,
		PrimaryAllowed: s.PrimaryAllowed, TogetherRound: s.TogetherRound, Refusals: int32(s.Refusals), Failed: s.Failed,
	}
	for _, b := range s.Backing {
		out.Backing = append(out.Backing, &agentv1.BackingState{
			Number: int32(b.Number), Reservation: b.Reservation, LvUuid: b.LVUUID, LvSize: b.LVSize, Usable: b.Usable,
		})
	}
	for _, a := range s.Apart {
		out.Apart = append(out.Apart, apartOut(a))
	}
	return out
}

func apartOut(a decide.Apart) *agentv1.Apart {
	out := &agentv1.Apart{Peer: int32(a.Peer), Since: timestamppb.New(a.Since)}
	for _, d := range a.Devices {
		dev := &agentv1.ApartDevice{
			Number: int32(d.Number), Current: uint64(d.Generations.Current), Bitmap: uint64(d.Generations.Bitmap), OutOfSync: d.OutOfSync,
		}
		for _, u := range d.Generations.History {
			dev.History = append(dev.History, uint64(u))
		}
		out.Devices = append(out.Devices, dev)
	}
	return out
}
