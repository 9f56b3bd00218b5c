package agents

import (
	"cmp"
	"slices"
	"strings"

	"rvol/coordinator/decide/desired"
	"rvol/coordinator/model"
	agentv1 "rvol/proto/agent/v1"
)

// toProto renders an order for its agent; where in history it stands is the caller's.
func toProto(o desired.Order) *agentv1.Desired {
	d := &agentv1.Desired{Cluster: o.Cluster, Fenced: o.Fenced, Hold: o.Hold, Coordinators: o.Coordinators}
	for _, r := range o.Resources {
		d.Resources = append(d.Resources, resource(r))
	}
	for _, r := range o.Releases {
		d.Releases = append(d.Releases, &agentv1.Release{
			Reservation: r.Name, Volume: r.Volume, Resource: model.ResourceName(r.Volume), ReplicaUid: r.ReplicaUID,
			Vg: r.VGName, VgUuid: r.Pool.VG, ThinPool: r.ThinPool, Lv: r.LV, LvUuid: r.LVUUID,
		})
	}
	for _, op := range o.Operations {
		d.Operations = append(d.Operations, operation(op, o.Resources))
	}
	for _, l := range o.Pools {
		p := &agentv1.OfferedPool{Vg: l.VG, VgUuid: l.UUID}
		for _, tp := range l.ThinPools {
			p.ThinPools = append(p.ThinPools, tp.Name)
		}
		d.Pools = append(d.Pools, p)
	}
	return d
}

func resource(r desired.Resource) *agentv1.DesiredResource {
	out := &agentv1.DesiredResource{
		Volume: r.Volume, VolumeUid: r.VolumeUID, Name: model.ResourceName(r.Volume),
		ReplicaId: int32(r.Replica.ID), ReplicaUid: r.Replica.UID, Type: string(r.Type),
		Down: r.Down, Primary: r.Primary, Member: r.Member, Revision: r.Revision, Formed: r.Formed,
		HostName: r.HostName, Port: int32(r.Replica.Port), Addresses: r.Addresses, Secret: r.Secret,
		Quorum: int32(r.Quorum), QuorumMinimumRedundancy: int32(r.QuorumMinimumRedundancy),
		TwoPrimaries: r.TwoPrimaries, OnNoQuorum: r.OnNoQuorum, Options: r.Options,
		MaxPeers: int32(r.MaxPeers), Drbd: r.DRBD, SoleRound: r.SoleRound, Retry: r.Replica.Retry,
	}
	for _, id := range r.Forget {
		out.Forget = append(out.Forget, int32(id))
	}
	for _, d := range r.Devices {
		out.Devices = append(out.Devices, device(d))
	}
	for _, m := range r.Peers {
		out.Peers = append(out.Peers, peer(m))
	}
	return out
}

func device(d desired.Device) *agentv1.DesiredDevice {
	out := &agentv1.DesiredDevice{Number: int32(d.Number), Minor: int32(d.Minor), Size: d.Size, ResizeTo: d.ResizeTo}
	if b := d.Backing; b != nil {
		out.Backing = &agentv1.Backing{
			Reservation: b.Name, Vg: b.VGName, VgUuid: b.Pool.VG, ThinPool: b.ThinPool,
			Lv: b.LV, LvUuid: b.LVUUID, Size: d.BackingSize, Wipe: d.Wipe,
		}
	}
	return out
}

func peer(m model.DatameshMember) *agentv1.DesiredPeer {
	out := &agentv1.DesiredPeer{
		Id: int32(m.ID), Type: string(m.Type), Node: m.Node, HostName: m.HostName, Addresses: map[string]string{},
	}
	for network, a := range m.Addresses {
		out.Addresses[network], out.Port = a.Addr().String(), int32(a.Port())
	}
	return out
}

// operationID tells an operation from an earlier one of the same name: an agent runs what it
// has not heard of, and answers for what it knows with the result it has.
func operationID(op *model.Operation) string { return op.Name + "." + op.UID }

// operationName is the name in an operation's ID. Names have no dots.
func operationName(id string) string {
	name, _, _ := strings.Cut(id, ".")
	return name
}

func operation(op *model.Operation, resources []desired.Resource) *agentv1.OperationGrant {
	out := &agentv1.OperationGrant{Id: operationID(op), Type: op.Type, Volume: op.Volume}
	i := slices.IndexFunc(resources, func(r desired.Resource) bool { return r.Volume == op.Volume && r.Replica.ID == op.Replica })
	if op.Volume != "" && i >= 0 {
		out.ReplicaUid = resources[i].Replica.UID
	}
	if p := op.NewUUID; p != nil {
		out.NewUuid = &agentv1.NewUUID{ClearBitmap: p.ClearBitmap, Revision: p.Revision, LvUuids: p.LVUUIDs}
		for _, id := range p.Peers {
			out.NewUuid.Peers = append(out.NewUuid.Peers, int32(id))
		}
	}
	if p := op.VG; p != nil {
		out.CreateVg = &agentv1.CreateVG{Vg: p.VG, Device: p.Device, ThinPool: p.ThinPool}
	}
	if p := op.Peer; p != nil {
		out.WithPeer = &agentv1.WithPeer{Peer: int32(p.Peer)}
		for _, g := range p.Generations {
			out.WithPeer.Generations = append(out.WithPeer.Generations, uint64(g))
		}
	}
	return out
}

func capabilities(c *agentv1.Capabilities) model.Capabilities {
	return model.Capabilities{
		DRBD: c.GetDrbd(), DRBDFull: c.GetDrbdFull(), DRBDReason: c.GetDrbdReason(), MaxPeers: int(c.GetMaxPeers()),
		LVM: c.GetLvm(), LVMReason: c.GetLvmReason(), Thin: c.GetThin(), ThinReason: c.GetThinReason(),
	}
}

// byName orders what agents may send in any order.
func byName[T any](list []T, name func(T) string) []T {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	return list
}
