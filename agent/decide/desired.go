package decide

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"rvol/drbd"
)

// An Order is where in history a Desired stands: an agent never goes back.
type Order struct {
	Incarnation uint64 `json:"incarnation"`
	Index       uint64 `json:"index"`
}

// Before says that o is older than p.
func (o Order) Before(p Order) bool {
	if o.Incarnation != p.Incarnation {
		return o.Incarnation < p.Incarnation
	}
	return o.Index < p.Index
}

// String gives "incarnation/index".
func (o Order) String() string { return fmt.Sprintf("%d/%d", o.Incarnation, o.Index) }

// Desired is everything that this node must hold, the whole of it.
type Desired struct {
	Order        Order       `json:"order"`
	Cluster      string      `json:"cluster"`
	Resources    []Resource  `json:"resources,omitempty"`
	Releases     []Release   `json:"releases,omitempty"`
	Operations   []Operation `json:"operations,omitempty"`
	Fenced       bool        `json:"fenced,omitempty"` // stay Secondary with everything
	Hold         bool        `json:"hold,omitempty"`   // remove, demote, resize and adjust nothing
	Pools        []Pool      `json:"pools,omitempty"`
	Coordinators []string    `json:"coordinators,omitempty"` // API addresses
}

// ReplicaType is what a replica does for its volume.
type ReplicaType string

// The replica types.
const (
	Diskful    ReplicaType = "Diskful"
	TieBreaker ReplicaType = "TieBreaker"
	Access     ReplicaType = "Access"
	// LiminalDiskful votes, and its disk is prepared and not attached: on the
	// way to Diskful, or from it.
	LiminalDiskful ReplicaType = "LiminalDiskful"
)

// A Resource is this node's replica of one volume.
type Resource struct {
	Volume                  string            `json:"volume"`
	VolumeUID               string            `json:"volume_uid"`
	Name                    string            `json:"name"` // DRBD resource
	ReplicaID               drbd.NodeID       `json:"replica_id"`
	ReplicaUID              string            `json:"replica_uid"`
	Type                    ReplicaType       `json:"type"`
	Down                    bool              `json:"down,omitempty"` // stopped volume
	Primary                 bool              `json:"primary,omitempty"`
	Member                  bool              `json:"member,omitempty"`   // false: preconfigured, without peers
	Revision                int64             `json:"revision,omitempty"` // datamesh revision
	Formed                  bool              `json:"formed,omitempty"`
	HostName                string            `json:"host_name"`
	Port                    int               `json:"port"`
	Addresses               map[string]string `json:"addresses,omitempty"` // network name -> own address
	Devices                 []Device          `json:"devices"`
	Peers                   []Peer            `json:"peers,omitempty"`
	Forget                  []drbd.NodeID     `json:"forget,omitempty"` // replicas that left: their bitmap slots are to be freed
	Secret                  drbd.Secret       `json:"-"`                // the journal keeps it apart
	Quorum                  int               `json:"quorum,omitempty"` // 0: off
	QuorumMinimumRedundancy int               `json:"quorum_minimum_redundancy,omitempty"`
	TwoPrimaries            bool              `json:"two_primaries,omitempty"`
	OnNoQuorum              string            `json:"on_no_quorum,omitempty"`
	Options                 map[string]string `json:"options,omitempty"`
	MaxPeers                int               `json:"max_peers,omitempty"`  // bitmap slots
	DRBD                    string            `json:"drbd,omitempty"`       // "8.4" or "9": what all replicas run
	SoleRound               int64             `json:"sole_round,omitempty"` // counts the times that one copy was let go on alone
	Retry                   int64             `json:"retry,omitempty"`      // counts the times that somebody said: try again
}

// Arbitrated says that the coordinators decide which copy goes on when the
// other is lost: DRBD 8.4 has no quorum.
func (r Resource) Arbitrated() bool {
	return r.DRBD == "8.4" && r.Member && len(r.Peers) == 1
}

// A Device is one block device of a volume.
type Device struct {
	Number  int        `json:"number"`
	Minor   drbd.Minor `json:"minor"`
	Size    int64      `json:"size"` // usable bytes
	Backing *Backing   `json:"backing,omitempty"`
	// ResizeTo is how many usable bytes this node, and no other, lets DRBD
	// take on all nodes; 0: it does not.
	ResizeTo int64 `json:"resize_to,omitempty"`
}

// Backing is the logical volume under a device of a Diskful replica.
type Backing struct {
	Reservation string `json:"reservation"` // uid
	VG          string `json:"vg"`
	VGUUID      string `json:"vg_uuid"`
	ThinPool    string `json:"thin_pool,omitempty"`
	LV          string `json:"lv"`
	LVUUID      string `json:"lv_uuid,omitempty"` // once the coordinator knows it
	Size        int64  `json:"size"`              // bytes of the LV, at least
	Wipe        string `json:"wipe,omitempty"`    // old blocks of a thick volume: none, discard, zero
}

// A Peer is another node's replica.
type Peer struct {
	ID        drbd.NodeID       `json:"id"`
	Type      ReplicaType       `json:"type"`
	Node      string            `json:"node"`
	HostName  string            `json:"host_name"`
	Port      int               `json:"port"`
	Addresses map[string]string `json:"addresses,omitempty"`
}

// A Release orders away what one reservation holds.
type Release struct {
	Reservation string `json:"reservation"`
	Volume      string `json:"volume"`
	Resource    string `json:"resource"`
	ReplicaUID  string `json:"replica_uid"`
	VG          string `json:"vg"`
	VGUUID      string `json:"vg_uuid"`
	ThinPool    string `json:"thin_pool,omitempty"`
	LV          string `json:"lv"`
	LVUUID      string `json:"lv_uuid,omitempty"` // empty: never reported; the tags decide
}

// An Operation is a committed permission to run one command, once.
type Operation struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	Volume     string    `json:"volume,omitempty"`
	ReplicaUID string    `json:"replica_uid,omitempty"`
	NewUUID    *NewUUID  `json:"new_uuid,omitempty"`
	CreateVG   *CreateVG `json:"create_vg,omitempty"`
	WithPeer   *WithPeer `json:"with_peer,omitempty"`
}

// The types of operations. Those from Reconnect on are about two copies of a formed volume.
const (
	CreateNewUUIDOperation = "CreateNewUUID"
	CreateVGOperation      = "CreateVG"
	// ReconnectOperation connects again at once; DiscardOperation also gives up what this
	// copy was written since the two went apart.
	ReconnectOperation = "Reconnect"
	DiscardOperation   = "DiscardChanges"
	// ForceOperation takes this copy as good, whatever its disk says of itself.
	ForceOperation = "ForceUpToDate"
	// VerifyOperation compares with the other copy; RepairOperation copies what was found
	// to differ: on DRBD 8.4 from this one to the other, on 9 from the other to this one.
	VerifyOperation = "Verify"
	RepairOperation = "Repair"
)

// WithPeer is what an operation on two copies is about.
type WithPeer struct {
	Peer        drbd.NodeID `json:"peer"`
	Generations []drbd.UUID `json:"generations,omitempty"` // by device: what this one must hold still; none: anything
}

// NewUUID makes the first data generation of a volume.
type NewUUID struct {
	ClearBitmap bool          `json:"clear_bitmap,omitempty"` // else a full sync from here
	Revision    int64         `json:"revision"`
	Peers       []drbd.NodeID `json:"peers,omitempty"` // must be Connected and Inconsistent
	LVUUIDs     []string      `json:"lv_uuids"`        // by device
}

// CreateVG makes a volume group on an empty disk.
type CreateVG struct {
	VG       string `json:"vg"`
	Device   string `json:"device"`
	ThinPool string `json:"thin_pool,omitempty"`
}

// A Pool is a volume group that this node offers.
type Pool struct {
	VG        string   `json:"vg"`
	VGUUID    string   `json:"vg_uuid"`
	ThinPools []string `json:"thin_pools,omitempty"`
}

// Resource finds a resource by its DRBD name.
func (d Desired) Resource(name string) (Resource, bool) {
	i := slices.IndexFunc(d.Resources, func(r Resource) bool { return r.Name == name })
	if i < 0 {
		return Resource{}, false
	}
	return d.Resources[i], true
}

// SameFor says that two orders ask the same of a key: what was refused will be again.
func (d Desired) SameFor(other Desired, key string) bool {
	if d.Fenced != other.Fenced || d.Hold != other.Hold {
		return false
	}
	a, inA := d.Resource(key)
	b, inB := other.Resource(key)
	releases := func(d Desired) []Release {
		return slices.DeleteFunc(slices.Clone(d.Releases), func(r Release) bool { return r.Resource != key })
	}
	operations := func(d Desired) []Operation {
		return slices.DeleteFunc(slices.Clone(d.Operations), func(o Operation) bool { return d.operationKey(o) != key })
	}
	return inA == inB && reflect.DeepEqual(a, b) && slices.Equal(releases(d), releases(other)) &&
		reflect.DeepEqual(operations(d), operations(other))
}

// Keys names everything that Next can be asked about, sorted: resources, and
// volume groups to be made.
func (d Desired) Keys() []string {
	keys := map[string]bool{}
	for _, r := range d.Resources {
		keys[r.Name] = true
	}
	for _, r := range d.Releases {
		keys[r.Resource] = true
	}
	for _, o := range d.Operations {
		keys[d.operationKey(o)] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

// operationKey is the key under which an operation is carried out: that of
// its resource, so that nothing else happens to the resource meanwhile.
func (d Desired) operationKey(o Operation) string {
	for _, r := range d.Resources {
		if o.ReplicaUID != "" && r.ReplicaUID == o.ReplicaUID {
			return r.Name
		}
	}
	return operationPrefix + o.ID
}

const operationPrefix = "operation/"

// OfNoResource says that a key is that of an operation without a resource.
func OfNoResource(key string) bool { return strings.HasPrefix(key, operationPrefix) }
