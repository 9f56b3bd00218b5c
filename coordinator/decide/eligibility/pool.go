package eligibility

import (
	"slices"
	"time"

	"rvol/coordinator/model/selector"
)

// DefaultGrace is how long a node may be NotReady and stay eligible, where a pool does not say.
const DefaultGrace = 10 * time.Minute

// A Pool is which nodes and LVGs belong to a storage pool.
type Pool struct {
	VGs      []string // names of volume groups; empty: those that the selector matches
	Selector selector.Selector
	ThinPool string // LVMThin: the thin pool in each of them; LVM: empty

	Zones    []string          // empty: all
	Nodes    selector.Selector // empty: all
	Networks []string          // a node needs an address on each
	Grace    time.Duration
}

// A Readiness is what is known of a node being reachable.
type Readiness uint8

// The readinesses. Unknown is not ready and not gone.
const (
	Unknown Readiness = iota
	Ready
	NotReady
)

// A Node is what is known of a node.
type Node struct {
	Name          string
	Zone          string
	Labels        map[string]string
	Networks      []string // names of the networks it has an address on
	Readiness     Readiness
	NotReadyFor   time.Duration // how long it has been NotReady
	AgentReady    bool
	Unschedulable bool
	DRBD          string // "8.4", "9", or "" where the node has none
	LVGs          []LVG
}

// An LVG is what is known of a volume group that a node offers.
type LVG struct {
	VG            string
	ID            string // what tells it from another volume group of that name
	Labels        map[string]string
	Ready         bool
	Unschedulable bool
	ThickOff      bool // offers its thin pools only
	ThinPools     []ThinPool
}

// A ThinPool is what is known of a thin pool that an LVG offers.
type ThinPool struct {
	Name  string
	ID    string
	Ready bool
}

// An EligibleNode is a node that may hold replicas of the pool; without an LVG, only diskless ones.
type EligibleNode struct {
	Node          string
	Zone          string
	Unschedulable bool
	NodeReady     bool
	AgentReady    bool
	DRBD          string
	LVGs          []EligibleLVG
}

// An EligibleLVG is an LVG, or a thin pool of one, that may hold Diskful replicas of the pool.
type EligibleLVG struct {
	VG            string
	ThinPool      string
	ID            string // of the thin pool, or of the volume group
	Unschedulable bool
	Ready         bool
}

// Equal says whether two entries are the same in every field.
func (n EligibleNode) Equal(other EligibleNode) bool {
	return n.Node == other.Node && n.Zone == other.Zone && n.DRBD == other.DRBD &&
		n.Unschedulable == other.Unschedulable && n.NodeReady == other.NodeReady &&
		n.AgentReady == other.AgentReady && slices.Equal(n.LVGs, other.LVGs)
}
