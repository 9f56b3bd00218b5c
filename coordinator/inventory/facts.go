package inventory

import (
	"net/netip"
	"time"

	"rvol/coordinator/model"
	"rvol/drbd"
)

// Order is where in history an order stands.
type Order struct {
	Incarnation uint64
	Index       uint64
}

// Less says whether o is older than p.
func (o Order) Less(p Order) bool {
	if o.Incarnation != p.Incarnation {
		return o.Incarnation < p.Incarnation
	}
	return o.Index < p.Index
}

// Node is what one agent last said. Slices and maps are shared and never changed: a new
// report brings new ones.
type Node struct {
	Name      string
	Session   uint64    // grows with each session on this coordinator; 0: none since the election
	Connected bool      // the session is open
	Heard     time.Time // when the agent last said anything, with the monotonic clock
	Full      bool      // this session has brought a full report
	Accepted  Order     // newest order the agent accepted

	VGs          []VG
	StorageError string // why VGs is not the whole truth; empty: it is
	Resources    []Resource
	DRBDError    string                  // the same for Resources
	Replicas     map[string]ReplicaState // by replica uid
	Files        []string                // for drbdadm, in our folder: of which resources
	Released     map[string]bool         // reservation uids whose LV is proven gone
	Conditions   []model.Condition       // preflight and stuck tools
	Capabilities model.Capabilities
	Addresses    map[string]netip.Addr
	Kept         []Kept // what it was once ordered to hold, holds still, and no order names
}

// Kept is a replica that the state may have forgotten, as its agent remembers it.
type Kept struct {
	Volume, VolumeUID string
	ID                int
	UID               string
	Type              model.ReplicaType
	HostName          string
	Port              int
	Addresses         map[string]string // by network
	Secret            drbd.Secret
	DRBD              string
	Revision          int64
	SoleRound         int64
	Formed            bool
	Quorum            int
	MinimumRedundancy int
	TwoPrimaries      bool
	Devices           []KeptDevice
	Peers             []KeptPeer
}

// KeptDevice is one of its devices.
type KeptDevice struct {
	Number, Minor int
	Size          int64  // usable bytes
	Reservation   string // uid, its LV's tag; empty: diskless
	VG, VGUUID    string
	ThinPool      string
	LV, LVUUID    string
}

// KeptPeer is another replica as it knew it.
type KeptPeer struct {
	ID        int
	Type      model.ReplicaType
	Node      string
	HostName  string
	Port      int
	Addresses map[string]string
}

// Known says whether the node's report may be relied on: it is connected, full, complete.
func (n *Node) Known() bool { return n != nil && n.Connected && n.Full }

// Resource finds a DRBD resource by name.
func (n *Node) Resource(name string) (Resource, bool) {
	if n == nil {
		return Resource{}, false
	}
	for _, r := range n.Resources {
		if r.Name == name {
			return r, true
		}
	}
	return Resource{}, false
}

// VG finds a volume group by UUID.
func (n *Node) VG(uuid string) (VG, bool) {
	if n == nil {
		return VG{}, false
	}
	for _, vg := range n.VGs {
		if vg.UUID == uuid {
			return vg, true
		}
	}
	return VG{}, false
}

// VG is one volume group; sizes in bytes.
type VG struct {
	Name, UUID     string
	ExtentSize     int64
	Extents        int64
	FreeExtents    int64
	ForeignExtents int64 // taken by LVs that rvol did not create
	Partial        bool
	ThinPools      []ThinPool
	LVs            []LV
}

// ThinPool is one thin pool.
type ThinPool struct {
	Name, UUID      string
	Size            int64
	DataPercent     float64
	MetadataPercent float64
	Zeroes          bool
	ErrorWhenFull   bool
}

// LV is one logical volume.
type LV struct {
	Name, UUID  string
	Size        int64
	ThinPool    string
	Active      bool
	Open        bool
	Reservation string // from our tags; empty: not ours
	Cluster     string
}

// Resource is one DRBD resource as a node's kernel has it.
type Resource struct {
	Name      string
	NodeID    int
	Role      drbd.Role
	Suspended string
	Devices   []Device
	Peers     []Peer
}

// Device is one device of a resource.
type Device struct {
	Number int
	Minor  int
	Disk   drbd.DiskState
	Quorum bool
	Size   int64
	Open   bool
	Opener string
}

// Peer is one connection of a resource.
type Peer struct {
	Name       string // empty on DRBD 8.4
	NodeID     int    // -1 on DRBD 8.4
	Connection drbd.ConnState
	Role       drbd.Role
	Devices    []PeerDevice
}

// PeerDevice is a device as seen through one connection.
type PeerDevice struct {
	Number      int
	Replication drbd.ReplState
	Disk        drbd.DiskState
	OutOfSync   int64
	DonePercent float64
}

// Open says whether any device is held open, and by whom.
func (r Resource) Open() (opener string, open bool) {
	for _, d := range r.Devices {
		if d.Open {
			return d.Opener, true
		}
	}
	return "", false
}

// Disk is the worst disk state of the resource's devices.
func (r Resource) Disk() drbd.DiskState {
	worst := drbd.DiskState("")
	for _, d := range r.Devices {
		if worst == "" || rank[d.Disk] < rank[worst] {
			worst = d.Disk
		}
	}
	if worst == "" {
		return drbd.Diskless
	}
	return worst
}

var rank = map[drbd.DiskState]int{
	drbd.Failed: 1, drbd.Diskless: 2, drbd.Detaching: 3, drbd.Attaching: 4, drbd.Negotiating: 5,
	drbd.DUnknown: 6, drbd.Inconsistent: 7, drbd.Outdated: 8, drbd.Consistent: 9, drbd.UpToDate: 10,
}

// ReplicaState is how far an agent has come with one replica of its order.
type ReplicaState struct {
	Volume          string
	UID             string
	AppliedRevision int64
	Preconfigured   bool
	JustCreated     bool
	Step            string // what it is doing now
	Error           string // why it cannot go on
	ErrorClass      string
	Definite        bool  // waiting will not cure it
	Refusals        int   // definite ones in a row
	Failed          bool  // its agent has given up until something changes
	TogetherRound   int64 // newest round after whose order both copies were seen together
	Backing         []Backing
	Apart           []Apart
}

// Apart is a peer that DRBD has given up, as seen from a replica.
type Apart struct {
	Peer    int // replica id
	Since   time.Time
	Devices []ApartDevice
}

// ApartDevice tells what a device holds.
type ApartDevice struct {
	Number      int
	Generations drbd.Generations // zero: could not be read
	OutOfSync   int64            // bytes that the peer lacks of what was written here
}

// Backing is the backing of one device of a replica.
type Backing struct {
	Number      int
	Reservation string
	LVUUID      string
	LVSize      int64
	Usable      int64
}

// ReplicaOf says whether a resource is one that an order gave this node.
func (n *Node) ReplicaOf(resource string) bool {
	for _, r := range n.Replicas {
		if model.ResourceName(r.Volume) == resource {
			return true
		}
	}
	return false
}
