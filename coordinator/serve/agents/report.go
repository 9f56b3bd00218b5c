package agents

import (
	"net/netip"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
	agentv1 "rvol/proto/agent/v1"
)

// takeReport returns what a report changes of what is known of its node. A section that
// is absent has not changed.
func takeReport(r *agentv1.Report) func(*inventory.Node) {
	return func(n *inventory.Node) {
		if r.GetFull() {
			n.Full = true
		}
		if s := r.GetStorage(); s != nil {
			n.VGs, n.StorageError = volumeGroups(s), s.GetError()
		}
		if s := r.GetResources(); s != nil {
			n.Resources, n.DRBDError, n.Files = resources(s), s.GetError(), s.GetFiles()
		}
		if s := r.GetReplicas(); s != nil {
			n.Replicas, n.Released = replicas(s), map[string]bool{}
			for _, uid := range s.GetReleased() {
				n.Released[uid] = true
			}
		}
		if s := r.GetConditions(); s != nil {
			n.Conditions = conditions(s)
		}
		if s := r.GetCapabilities(); s != nil {
			n.Capabilities = capabilities(s)
		}
		if s := r.GetAddresses(); s != nil {
			n.Addresses = reported(s)
		}
		if k := r.GetKept(); k != nil {
			n.Kept = kept(k)
		}
		if a := r.GetAccepted(); a != nil {
			n.Accepted = inventory.Order{Incarnation: a.GetIncarnation(), Index: a.GetIndex()}
		}
	}
}

func volumeGroups(s *agentv1.Storage) []inventory.VG {
	out := make([]inventory.VG, 0, len(s.GetVgs()))
	for _, vg := range s.GetVgs() {
		g := inventory.VG{
			Name: vg.GetName(), UUID: vg.GetUuid(), ExtentSize: vg.GetExtentSize(), Extents: vg.GetExtents(),
			FreeExtents: vg.GetFreeExtents(), ForeignExtents: vg.GetForeignExtents(), Partial: vg.GetPartial(),
		}
		for _, tp := range vg.GetThinPools() {
			g.ThinPools = append(g.ThinPools, inventory.ThinPool{
				Name: tp.GetName(), UUID: tp.GetUuid(), Size: tp.GetSize(), DataPercent: tp.GetDataPercent(),
				MetadataPercent: tp.GetMetadataPercent(), Zeroes: tp.GetZeroes(), ErrorWhenFull: tp.GetErrorWhenFull(),
			})
		}
		for _, lv := range vg.GetLvs() {
			g.LVs = append(g.LVs, inventory.LV{
				Name: lv.GetName(), UUID: lv.GetUuid(), Size: lv.GetSize(), ThinPool: lv.GetThinPool(),
				Active: lv.GetActive(), Open: lv.GetOpen(), Reservation: lv.GetReservation(), Cluster: lv.GetCluster(),
			})
		}
		byName(g.ThinPools, func(p inventory.ThinPool) string { return p.Name })
		out = append(out, g)
	}
	return byName(out, func(g inventory.VG) string { return g.Name })
}

func resources(s *agentv1.Resources) []inventory.Resource {
	out := make([]inventory.Resource, 0, len(s.GetResources()))
	for _, r := range s.GetResources() {
		res := inventory.Resource{Name: r.GetName(), NodeID: int(r.GetNodeId()), Role: drbd.Role(r.GetRole()), Suspended: r.GetSuspended()}
		for _, d := range r.GetDevices() {
			res.Devices = append(res.Devices, inventory.Device{
				Number: int(d.GetNumber()), Minor: int(d.GetMinor()), Disk: drbd.DiskState(d.GetDisk()),
				Quorum: d.GetQuorum(), Size: d.GetSize(), Open: d.GetOpen(), Opener: d.GetOpener(),
			})
		}
		for _, p := range r.GetPeers() {
			res.Peers = append(res.Peers, reportedPeer(p))
		}
		out = append(out, res)
	}
	return byName(out, func(r inventory.Resource) string { return r.Name })
}

func reportedPeer(p *agentv1.Peer) inventory.Peer {
	out := inventory.Peer{
		Name: p.GetName(), NodeID: int(p.GetNodeId()), Connection: drbd.ConnState(p.GetConnection()), Role: drbd.Role(p.GetRole()),
	}
	for _, d := range p.GetDevices() {
		out.Devices = append(out.Devices, inventory.PeerDevice{
			Number: int(d.GetNumber()), Replication: drbd.ReplState(d.GetReplication()), Disk: drbd.DiskState(d.GetDisk()),
			OutOfSync: d.GetOutOfSync(), DonePercent: d.GetDonePercent(),
		})
	}
	return out
}

func replicas(s *agentv1.Replicas) map[string]inventory.ReplicaState {
	out := make(map[string]inventory.ReplicaState, len(s.GetReplicas()))
	for _, r := range s.GetReplicas() {
		st := inventory.ReplicaState{
			Volume: r.GetVolume(), UID: r.GetReplicaUid(), AppliedRevision: r.GetAppliedRevision(),
			Preconfigured: r.GetPreconfigured(), JustCreated: r.GetJustCreated(), Step: r.GetStep(),
			Error: r.GetError(), ErrorClass: r.GetErrorClass(), Definite: r.GetDefinite(),
			Refusals: int(r.GetRefusals()), Failed: r.GetFailed(),
			TogetherRound: r.GetTogetherRound(),
		}
		for _, b := range r.GetBacking() {
			st.Backing = append(st.Backing, inventory.Backing{
				Number: int(b.GetNumber()), Reservation: b.GetReservation(), LVUUID: b.GetLvUuid(), LVSize: b.GetLvSize(), Usable: b.GetUsable(),
			})
		}
		for _, a := range r.GetApart() {
			st.Apart = append(st.Apart, apart(a))
		}
		out[st.UID] = st
	}
	return out
}

func apart(a *agentv1.Apart) inventory.Apart {
	out := inventory.Apart{Peer: int(a.GetPeer()), Since: a.GetSince().AsTime()}
	for _, d := range a.GetDevices() {
		g := drbd.Generations{Current: drbd.UUID(d.GetCurrent()), Bitmap: drbd.UUID(d.GetBitmap())}
		for _, u := range d.GetHistory() {
			g.History = append(g.History, drbd.UUID(u))
		}
		out.Devices = append(out.Devices, inventory.ApartDevice{Number: int(d.GetNumber()), Generations: g, OutOfSync: d.GetOutOfSync()})
	}
	return out
}

func conditions(s *agentv1.Conditions) []model.Condition {
	var out []model.Condition
	for _, c := range s.GetConditions() {
		out = append(out, model.Condition{Type: c.GetType(), Status: model.Status(c.GetStatus()), Reason: c.GetReason(), Message: c.GetMessage()})
	}
	return byName(out, func(c model.Condition) string { return c.Type })
}

// reported reads the addresses an agent sees now; one that makes no sense is not one.
func reported(s *agentv1.Addresses) map[string]netip.Addr {
	out := map[string]netip.Addr{}
	for network, text := range s.GetByNetwork() {
		if a, err := netip.ParseAddr(text); err == nil {
			out[network] = a.Unmap()
		}
	}
	return out
}

// kept reads what an agent was once ordered to hold, and holds still.
func kept(k *agentv1.Kept) []inventory.Kept {
	var out []inventory.Kept
	for _, r := range k.GetResources() {
		one := inventory.Kept{
			Volume: r.GetVolume(), VolumeUID: r.GetVolumeUid(), ID: int(r.GetReplicaId()), UID: r.GetReplicaUid(),
			Type: model.ReplicaType(r.GetType()), HostName: r.GetHostName(), Port: int(r.GetPort()), Addresses: r.GetAddresses(),
			Secret: drbd.Secret(r.GetSecret()), DRBD: r.GetDrbd(), Revision: r.GetRevision(), SoleRound: r.GetSoleRound(),
			Formed: r.GetFormed(), Quorum: int(r.GetQuorum()), MinimumRedundancy: int(r.GetQuorumMinimumRedundancy()), TwoPrimaries: r.GetTwoPrimaries(),
		}
		for _, d := range r.GetDevices() {
			b := d.GetBacking()
			one.Devices = append(one.Devices, inventory.KeptDevice{
				Number: int(d.GetNumber()), Minor: int(d.GetMinor()), Size: d.GetSize(), Reservation: b.GetReservation(),
				VG: b.GetVg(), VGUUID: b.GetVgUuid(), ThinPool: b.GetThinPool(), LV: b.GetLv(), LVUUID: b.GetLvUuid(),
			})
		}
		for _, p := range r.GetPeers() {
			one.Peers = append(one.Peers, inventory.KeptPeer{
				ID: int(p.GetId()), Type: model.ReplicaType(p.GetType()), Node: p.GetNode(), HostName: p.GetHostName(),
				Port: int(p.GetPort()), Addresses: p.GetAddresses(),
			})
		}
		out = append(out, one)
	}
	return byName(out, func(k inventory.Kept) string { return k.Volume })
}
