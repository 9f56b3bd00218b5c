package desired

import (
	"cmp"
	"maps"
	"slices"

	"rvol/coordinator/decide/leftover"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// State is what a node's order is made from: everything that touches the node.
type State struct {
	Cluster      *model.Cluster
	Node         *model.Node
	Status       *model.NodeStatus
	Volumes      []Volume             // those with a replica on the node
	Reservations []*model.Reservation // in pools of the node
	Operations   []*model.Operation   // for the node
	LVGs         []*model.LVG         // of the node
	Coordinators []string             // API addresses
}

// Volume is one volume with a replica on the node.
type Volume struct {
	*model.Volume
	Status   *model.VolumeStatus
	Secret   string
	Replica  *model.Replica // the one on this node
	Attached bool           // an attachment on this node is granted
}

// Order is everything one node must hold.
type Order struct {
	Cluster      string
	Fenced       bool // stay Secondary with everything
	Hold         bool // reconciling: remove, demote, resize, adjust nothing
	Resources    []Resource
	Releases     []Release
	Operations   []*model.Operation
	Pools        []*model.LVG
	Coordinators []string
}

// Resource is one DRBD resource to hold.
type Resource struct {
	Volume                  string
	VolumeUID               string
	Replica                 *model.Replica
	Type                    model.ReplicaType // what it is now: in a transition not yet, or no longer, what its replica says
	Forget                  []int             // ids whose bitmap slots are to be freed
	Member                  bool              // false: preconfigured, knows no peer, cannot serve
	Down                    bool
	Primary                 bool
	Revision                int64 // of the mesh
	Formed                  bool
	HostName                string
	Addresses               map[string]string
	Devices                 []Device
	Peers                   []model.DatameshMember
	Secret                  string
	Quorum                  int
	QuorumMinimumRedundancy int
	TwoPrimaries            bool
	OnNoQuorum              string
	Options                 map[string]string
	MaxPeers                int
	DRBD                    string
	SoleRound               int64
}

// Device is one device of a resource.
type Device struct {
	model.ReplicaDevice
	Size        int64              // usable bytes
	Backing     *model.Reservation // Diskful only
	BackingSize int64              // bytes that the LV must have, at least
	ResizeTo    int64              // usable bytes that this member lets DRBD take, on all; 0: none
	Wipe        string
}

// Release is a reservation whose LV must go.
type Release struct {
	*model.Reservation
	Volume     string
	ReplicaUID string
}

// For works out the order of the node in s.
func For(s State) Order {
	o := Order{
		Cluster:      s.Cluster.ID,
		Fenced:       s.Node.Fenced != nil,
		Hold:         s.Cluster.Reconciling,
		Pools:        s.LVGs,
		Coordinators: s.Coordinators,
	}
	reservations := map[string]*model.Reservation{}
	for _, r := range s.Reservations {
		reservations[r.Name] = r
		if mayGo(r, s.Status) {
			o.Releases = append(o.Releases, release(r, s.Volumes))
		}
	}
	for _, v := range s.Volumes {
		if v.Replica.Deleting() && v.Replica.Diskless() {
			o.Releases = append(o.Releases, disklessRelease(v))
		}
		if v.Replica.Deleting() || v.Replica.Node == "" || v.Status.Configuration == nil {
			continue
		}
		o.Resources = append(o.Resources, resource(s, v, reservations))
	}
	for _, op := range s.Operations {
		if op.Phase == model.OperationPending || op.Phase == model.OperationRunning {
			o.Operations = append(o.Operations, op)
		}
	}
	slices.SortFunc(o.Resources, func(a, b Resource) int { return cmp.Compare(a.Volume, b.Volume) })
	slices.SortFunc(o.Releases, func(a, b Release) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(o.Operations, func(a, b *model.Operation) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(o.Pools, func(a, b *model.LVG) int { return cmp.Compare(a.Name, b.Name) })
	return o
}

// mayGo says that the node is to remove what a reservation holds, now.
func mayGo(r *model.Reservation, node *model.NodeStatus) bool {
	return r.State == model.Releasing && !leftover.Withheld(r, node)
}

func release(r *model.Reservation, volumes []Volume) Release {
	rel := Release{Reservation: r}
	rel.Volume, _, _ = model.SplitReplicaName(r.Owner)
	for _, v := range volumes {
		if v.Replica.Name == r.Owner && v.Replica.Deleting() { // else it stays up, on another disk or none
			rel.ReplicaUID = v.Replica.UID
		}
	}
	return rel
}

// disklessRelease takes down a replica that never had a volume; nothing else is released.
func disklessRelease(v Volume) Release {
	r := &model.Reservation{}
	r.Name = v.Replica.ReleaseName()
	return Release{Reservation: r, Volume: v.Name, ReplicaUID: v.Replica.UID}
}

// part is what a replica is now. On a formed volume a copy that is no member yet is prepared
// and not attached: alone it is of no use, and may not look like a copy.
func part(vs *model.VolumeStatus, r *model.Replica) model.ReplicaType {
	if m, ok := vs.Datamesh.Member(r.ID); ok {
		return m.Type
	}
	if vs.Formed && vs.DRBD != "8.4" && r.Type == model.Diskful {
		return model.LiminalDiskful
	}
	return r.Type
}

func resource(s State, v Volume, reservations map[string]*model.Reservation) Resource {
	mesh := v.Status.Datamesh
	r := Resource{
		Volume: v.Name, VolumeUID: v.UID, Replica: v.Replica, Type: part(v.Status, v.Replica), Formed: v.Status.Formed,
		HostName: s.Status.HostName, Addresses: map[string]string{}, MaxPeers: drbd.MaxPeers,
		Down: v.Stopped, DRBD: v.Status.DRBD, OnNoQuorum: v.Status.Configuration.OnNoQuorum,
		Options: options(v), TwoPrimaries: mesh.TwoPrimaries,
	}
	for _, net := range v.Status.Configuration.SystemNetworks {
		if a, ok := s.Status.Addresses[net]; ok {
			r.Addresses[net] = a.String()
		}
	}
	for _, d := range v.Replica.Devices {
		r.Devices = append(r.Devices, device(v, d, reservations[d.Reservation]))
	}
	if _, member := mesh.Member(v.Replica.ID); !member {
		return r // preconfigured: a stray replica can never serve
	}
	r.Member, r.Revision, r.Secret = true, mesh.Revision, v.Secret
	r.SoleRound, r.Forget = v.Status.SoleRound, mesh.Forget
	r.Quorum, r.QuorumMinimumRedundancy = mesh.Quorum, mesh.QuorumMinimumRedundancy
	for _, m := range mesh.Members {
		if m.ID != v.Replica.ID {
			r.Peers = append(r.Peers, m)
		}
	}
	// A fenced node must not serve; nor may, on DRBD 8.4, a copy other than the one that may go on alone.
	sole := v.Status.Sole == nil || *v.Status.Sole == v.Replica.ID
	r.Primary = v.Attached && sole && s.Node.Fenced == nil && v.Status.Formed && !v.Stopped
	return r
}

func device(v Volume, d model.ReplicaDevice, backing *model.Reservation) Device {
	out := Device{ReplicaDevice: d, Backing: backing, Wipe: v.Status.Configuration.Wipe}
	out.ResizeTo = transition.ResizeTo(v.Status, v.Replica.ID, d.Number)
	if backing != nil {
		out.BackingSize = backing.Granted
		if transition.Growing(v.Status) {
			out.BackingSize = max(backing.Granted, backing.Pending)
		}
	}
	for _, size := range append(slices.Clone(v.Devices), v.Status.Datamesh.Devices...) {
		if size.Number == d.Number {
			out.Size = size.Size // the mesh's, where it knows the device
		}
	}
	return out
}

// options are the class's tuning options with the volume's in front of them.
func options(v Volume) map[string]string {
	out := map[string]string{}
	maps.Copy(out, v.Status.Configuration.DRBD)
	maps.Copy(out, v.DRBD)
	return out
}
