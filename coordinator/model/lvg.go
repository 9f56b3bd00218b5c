package model

import (
	"math"
	"math/bits"
	"strings"
)

// PoolID is the identity of a place that holds logical volumes: a volume group, or a
// thin pool in it. UUIDs because names come back on other disks; the node because
// cloned disks share UUIDs.
type PoolID struct {
	Node   string `json:"node"`
	VG     string `json:"vg"`             // VG UUID
	ThinLV string `json:"thin,omitempty"` // UUID of the thin pool's LV; empty: the group itself
}

// String is the name of the pool's capacity record: node/vg-uuid[/thin-uuid].
func (p PoolID) String() string {
	s := p.Node + "/" + p.VG
	if p.ThinLV != "" {
		s += "/" + p.ThinLV
	}
	return s
}

// LVG is a volume group that a node offers. Its name is NODE/VG.
type LVG struct {
	Meta
	Node          string     `json:"node"`
	VG            string     `json:"vg"`
	UUID          string     `json:"uuid"`
	ThinPools     []ThinPool `json:"thin_pools,omitempty"`
	ThickOff      bool       `json:"thick_off,omitempty"` // only the thin pools are offered
	Unschedulable bool       `json:"unschedulable,omitempty"`

	OverProvisioningPercent int `json:"over_provisioning_percent"` // of thin pools; 100 and more
	StopDataPercent         int `json:"stop_data_percent"`         // no growth in a thin pool filled this far
	StopMetadataPercent     int `json:"stop_metadata_percent"`
}

// Defaults of an LVG.
const (
	DefaultOverProvisioningPercent = 200
	DefaultStopPercent             = 95
)

// ThinPool is a thin pool that an LVG offers.
type ThinPool struct {
	Name string `json:"name"`
	UUID string `json:"uuid"`
}

// Key is the LVG's key.
func (l *LVG) Key() Key { return Key{KindLVG, l.Name} }

// LVGName is the name of the LVG for vg on node.
func LVGName(node, vg string) string { return node + "/" + vg }

// SplitLVGName undoes LVGName.
func SplitLVGName(name string) (node, vg string, ok bool) { return strings.Cut(name, "/") }

// Pool returns the identity of the group, or of the named thin pool in it.
func (l *LVG) Pool(thinPool string) (PoolID, bool) {
	if thinPool == "" {
		return PoolID{Node: l.Node, VG: l.UUID}, true
	}
	for _, tp := range l.ThinPools {
		if tp.Name == thinPool {
			return PoolID{Node: l.Node, VG: l.UUID, ThinLV: tp.UUID}, true
		}
	}
	return PoolID{}, false
}

// Capacity is the committed size of one pool: what constraints count against. It is
// written from agents' reports, on change only, and from the LVG's settings.
type Capacity struct {
	Meta
	Pool           PoolID `json:"pool"`
	VGName         string `json:"vg_name"`
	ThinPoolName   string `json:"thin_pool_name,omitempty"`
	ExtentSize     int64  `json:"extent_size"`               // bytes
	Extents        int64  `json:"extents"`                   // of the VG; of the thin pool: its size in extents
	ForeignExtents int64  `json:"foreign_extents,omitempty"` // taken by LVs that are not rvol's; 0 for thin pools
	Percent        int    `json:"percent"`                   // over-provisioning; 100 for volume groups
	GrowthStopped  string `json:"growth_stopped,omitempty"`  // why nothing may grow here; empty: it may
	Missing        bool   `json:"missing,omitempty"`         // the node no longer reports it
	Zeroes         bool   `json:"zeroes,omitempty"`          // thin pool hands out zeroed blocks (lvs -o zero)
}

// Limit is how many bytes may be reserved of the pool: floor((extents - foreign) *
// extent size * percent / 100), and 0 when more is foreign than there is.
func (c *Capacity) Limit() int64 {
	free := c.Extents - c.ForeignExtents
	if free <= 0 || c.ExtentSize <= 0 || c.Percent <= 0 {
		return 0
	}
	hi, bytes := bits.Mul64(uint64(free), uint64(c.ExtentSize))
	over, lo := bits.Mul64(bytes, uint64(c.Percent))
	if hi != 0 || over >= 100 {
		return math.MaxInt64
	}
	limit, _ := bits.Div64(over, lo, 100)
	return int64(min(limit, math.MaxInt64))
}

// Key is the capacity record's key.
func (c *Capacity) Key() Key { return Key{KindCapacity, c.Pool.String()} }

// ReservationState tells how far a reservation's logical volume has come.
type ReservationState string

// A reservation is charged in every state; it is gone only when the LV is proven gone.
const (
	Reserved  ReservationState = "Reserved"  // granted, no LV known yet
	Bound     ReservationState = "Bound"     // the LV exists
	Releasing ReservationState = "Releasing" // the LV is to go; the agent's proof is awaited
)

// Owner kinds of reservations.
const (
	OwnerReplica  = "replica"
	OwnerSnapshot = "snapshot"
	OwnerImage    = "image"
	OwnerHold     = "hold"
	OwnerOrphan   = "orphan" // an LV with our tags that the state has never heard of
)

// Reservation is so much space of one pool, charged to one owner. Its name is its uid,
// which also tags the LV.
type Reservation struct {
	Meta
	OwnerKind string           `json:"owner_kind"`
	Owner     string           `json:"owner"`            // replica "db-1/0"
	Device    int              `json:"device,omitempty"` // device number within the volume
	Pool      PoolID           `json:"pool"`
	VGName    string           `json:"vg_name"`
	ThinPool  string           `json:"thin_pool,omitempty"`
	LV        string           `json:"lv,omitempty"`       // name of the logical volume
	Granted   int64            `json:"granted"`            // bytes
	Pending   int64            `json:"pending,omitempty"`  // bytes asked for by a resize under way
	Observed  int64            `json:"observed,omitempty"` // bytes the LV was seen to have
	State     ReservationState `json:"state"`
	LVUUID    string           `json:"lv_uuid,omitempty"`
	Imported  bool             `json:"imported,omitempty"` // existed before rvol knew it: charged without condition
	Kept      bool             `json:"kept,omitempty"`     // an orphan or a leftover that is meant to stay
	Leftover  LeftoverState    `json:"leftover,omitempty"` // empty: it is none
}

// LeftoverState tells of a reservation that was still to be removed when its node came back
// whether it may go.
type LeftoverState string

// The states of leftovers.
const (
	LeftoverWaiting LeftoverState = "waiting" // for its turn: its node is not told to remove it
	LeftoverGranted LeftoverState = "granted" // its node is to remove it
)

// Key is the reservation's key.
func (r *Reservation) Key() Key { return Key{KindReservation, r.Name} }

// Charge is what the reservation counts for, in bytes.
func (r *Reservation) Charge() int64 { return max(r.Granted, r.Pending, r.Observed) }
