package model

import "time"

// Topology says what zones mean to a class.
type Topology string

// Topologies of seed 002.
const (
	TopologyIgnored    Topology = "Ignored"
	TopologyZonal      Topology = "Zonal"
	TopologyTransZonal Topology = "TransZonal"
)

// VolumeAccess says from where a volume may be used.
type VolumeAccess string

// Volume accesses of seed 000.
const (
	AccessAny             VolumeAccess = "Any"
	AccessLocal           VolumeAccess = "Local"
	AccessPreferablyLocal VolumeAccess = "PreferablyLocal"
)

// PoolType is the kind of backing storage.
type PoolType string

// Pool types: thick logical volumes, or thin ones.
const (
	LVM     PoolType = "LVM"
	LVMThin PoolType = "LVMThin"
)

// Storage names the volume groups (and thin pool) that a pool is made of.
type Storage struct {
	Type     PoolType `json:"type"`
	VGs      []string `json:"vgs,omitempty"`       // names of volume groups; empty: those that match the selector
	Selector string   `json:"selector,omitempty"`  // label selector over LVGs
	ThinPool string   `json:"thin_pool,omitempty"` // name of the thin pool in each; LVMThin only
}

// Pool is a set of LVGs or thin pools over nodes.
type Pool struct {
	Meta
	Storage
	Zones          []string      `json:"zones,omitempty"`         // empty: all
	NodeSelector   string        `json:"node_selector,omitempty"` // label selector over nodes
	SystemNetworks []string      `json:"system_networks,omitempty"`
	NotReadyGrace  time.Duration `json:"not_ready_grace"`     // how long a NotReady node stays eligible
	Generated      bool          `json:"generated,omitempty"` // made from a class; goes with its last user
}

// Key is the pool's key.
func (p *Pool) Key() Key { return Key{KindPool, p.Name} }

// PoolStatus is what the pool controller found.
type PoolStatus struct {
	Meta
	EligibleNodes         []EligibleNode `json:"eligible_nodes,omitempty"` // sorted by name
	EligibleNodesRevision int64          `json:"eligible_nodes_revision"`  // raised exactly when the set changes
	UsedBy                []string       `json:"used_by,omitempty"`        // classes, sorted
	Conditions            Conditions     `json:"conditions,omitempty"`
}

// Key is the pool status's key.
func (p *PoolStatus) Key() Key { return Key{KindPoolStatus, p.Name} }

// EligibleNode is a node on which replicas of the pool's volumes may be.
type EligibleNode struct {
	Node          string        `json:"node"`
	Zone          string        `json:"zone,omitempty"`
	Unschedulable bool          `json:"unschedulable,omitempty"`
	NodeReady     bool          `json:"node_ready"`
	AgentReady    bool          `json:"agent_ready"`
	DRBD          string        `json:"drbd,omitempty"` // "8.4" or "9"
	LVGs          []EligibleLVG `json:"lvgs,omitempty"` // sorted by name; none: tie-breakers and access only
}

// EligibleLVG is a place on an eligible node that can hold a Diskful.
type EligibleLVG struct {
	VG            string `json:"vg"`
	ThinPool      string `json:"thin_pool,omitempty"`
	Pool          PoolID `json:"pool"`
	Unschedulable bool   `json:"unschedulable,omitempty"`
	Ready         bool   `json:"ready"`
}

// RolloutRollingUpdate and the others are strategies of a class, in seed 002's words.
const (
	RolloutRollingUpdate  = "RollingUpdate"
	RolloutNewVolumesOnly = "NewVolumesOnly"
	ConflictRollingRepair = "RollingRepair"
	ConflictManual        = "Manual"
)

// Class is the policy of volumes.
type Class struct {
	Meta
	FTT            int               `json:"ftt"`
	GMDR           int               `json:"gmdr"`
	Topology       Topology          `json:"topology"`
	VolumeAccess   VolumeAccess      `json:"volume_access"`
	Pool           string            `json:"pool,omitempty"`    // a named pool ...
	Storage        *Storage          `json:"storage,omitempty"` // ... or what to make one from
	Zones          []string          `json:"zones,omitempty"`
	NodeSelector   string            `json:"node_selector,omitempty"`
	SystemNetworks []string          `json:"system_networks,omitempty"`
	NotReadyGrace  time.Duration     `json:"not_ready_grace"`
	Rollout        string            `json:"rollout"`
	RolloutMax     int               `json:"rollout_max_parallel,omitempty"`
	Conflict       string            `json:"conflict"`
	ConflictMax    int               `json:"conflict_max_parallel,omitempty"`
	RepairAfter    time.Duration     `json:"repair_after"`
	OnNoQuorum     string            `json:"on_no_quorum"`           // suspend-io or io-error
	Wipe           string            `json:"wipe"`                   // none, discard or zero: before a thick LV is used
	TrustZeroed    bool              `json:"trust_zeroed,omitempty"` // thick backing is known to read zeros: no initial sync
	VerifyEvery    time.Duration     `json:"verify_every,omitempty"`
	DRBD           map[string]string `json:"drbd,omitempty"` // tuning options by name (ping-int, c-max-rate ...), from a closed list
}

// Key is the class's key.
func (c *Class) Key() Key { return Key{KindClass, c.Name} }

// DefaultNetwork is the one replication network a node has unless told otherwise.
const DefaultNetwork = "default"

// Defaults of a class.
const (
	DefaultNotReadyGrace = 10 * time.Minute
	DefaultRepairAfter   = 60 * time.Minute
	DefaultMaxParallel   = 5
)

// Configuration is a class's policy as a volume runs it: a snapshot, resolved.
type Configuration struct {
	FTT            int               `json:"ftt"`
	GMDR           int               `json:"gmdr"`
	Topology       Topology          `json:"topology"`
	VolumeAccess   VolumeAccess      `json:"volume_access"`
	Pool           string            `json:"pool"`
	PoolType       PoolType          `json:"pool_type"`
	SystemNetworks []string          `json:"system_networks"`
	OnNoQuorum     string            `json:"on_no_quorum"`
	Wipe           string            `json:"wipe"`
	TrustZeroed    bool              `json:"trust_zeroed,omitempty"`
	DRBD           map[string]string `json:"drbd,omitempty"`
}

// ClassStatus is what the class controller found.
type ClassStatus struct {
	Meta
	Configuration           *Configuration `json:"configuration,omitempty"` // the last valid one
	ConfigurationGeneration int64          `json:"configuration_generation"`
	PoolName                string         `json:"pool_name,omitempty"`
	PoolBasedOnGeneration   int64          `json:"pool_based_on_generation"`
	EligibleNodesRevision   int64          `json:"eligible_nodes_revision"`
	Volumes                 VolumeCounts   `json:"volumes"`
	Conditions              Conditions     `json:"conditions,omitempty"`
}

// Key is the class status's key.
func (c *ClassStatus) Key() Key { return Key{KindClassStatus, c.Name} }

// VolumeCounts are a class's volume statistics; nil where seed 002 says they are unknown.
type VolumeCounts struct {
	Total                       int      `json:"total"`
	Aligned                     *int     `json:"aligned,omitempty"`
	StaleConfiguration          *int     `json:"stale_configuration,omitempty"`
	InConflictWithEligibleNodes int      `json:"in_conflict_with_eligible_nodes"`
	PendingObservation          int      `json:"pending_observation"`
	UsedPools                   []string `json:"used_pools,omitempty"`
}
