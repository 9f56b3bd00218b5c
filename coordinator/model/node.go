package model

import (
	"net/netip"
	"time"
)

// Node is a machine with an agent, as the operator wants it.
type Node struct {
	Meta
	Zone          string `json:"zone,omitempty"`
	Unschedulable bool   `json:"unschedulable,omitempty"` // cordoned: nothing new is placed here
	Fenced        *Fence `json:"fenced,omitempty"`
}

// Key is the node's key.
func (n *Node) Key() Key { return Key{KindNode, n.Name} }

// Fence is the operator's word that a node is off or cut from its storage network.
// It stays until the node's agent has read, on its return, that it must be Secondary.
type Fence struct {
	By    string    `json:"by"`
	At    time.Time `json:"at"`
	Epoch uint64    `json:"epoch"` // the registration it speaks of; a later one may clear it
}

// NodeStatus is what the coordinators decided about a node.
type NodeStatus struct {
	Meta
	Ready         bool      `json:"ready"`
	Reason        string    `json:"reason"`     // why it is Ready or not, in a sentence
	UpdatedBy     string    `json:"updated_by"` // register, heartbeat, monitor, operator, session
	UpdatedAt     time.Time `json:"updated_at"`
	NotReadySince time.Time `json:"not_ready_since,omitzero"`
	Door          string    `json:"door,omitempty"` // what its health door answered when it fell silent, in a sentence; decides nothing

	Epoch        uint64                `json:"epoch"`     // raised at each registration
	HostName     string                `json:"host_name"` // uname -n: what drbdadm compares with "on HOST"
	MachineID    string                `json:"machine_id,omitempty"`
	BootID       string                `json:"boot_id,omitempty"`
	Former       []string              `json:"former,omitempty"`    // UUIDs of volume groups that the machine offered which had this name before; sorted
	Addresses    map[string]netip.Addr `json:"addresses,omitempty"` // network name -> replication address
	Health       netip.AddrPort        `json:"health,omitzero"`     // the agent's own door; none: an agent of before
	AgentVersion string                `json:"agent_version,omitempty"`
	Kernel       string                `json:"kernel,omitempty"`
	Capabilities Capabilities          `json:"capabilities"`
	Leftovers    *Leftovers            `json:"leftovers,omitempty"` // nil: none were let go for long
}

// Leftovers is what is remembered of leftovers that were let go, so that no leader lets more go in
// the same period.
type Leftovers struct {
	Granted int       `json:"granted"` // since the last long rest
	At      time.Time `json:"at"`      // of the newest grant, or proof that one is gone; for people, and to tell one from another
}

// Why is why the node is Ready or not, with all that is known of it.
func (n *NodeStatus) Why() string {
	if n.Door == "" {
		return n.Reason
	}
	return n.Reason + "; " + n.Door
}

// Key is the node status's key.
func (n *NodeStatus) Key() Key { return Key{KindNodeStatus, n.Name} }

// Capabilities say what a node's tools and kernel can do, and why they cannot do the rest.
type Capabilities struct {
	DRBD       string `json:"drbd,omitempty"`        // "8.4" or "9"; empty: none, see DRBDReason
	DRBDFull   string `json:"drbd_full,omitempty"`   // "8.4.11", "9.2.19"
	DRBDReason string `json:"drbd_reason,omitempty"` // why there is none
	MaxPeers   int    `json:"max_peers,omitempty"`
	LVM        string `json:"lvm,omitempty"` // version; empty: none, see LVMReason
	LVMReason  string `json:"lvm_reason,omitempty"`
	Thin       bool   `json:"thin,omitempty"`
	ThinReason string `json:"thin_reason,omitempty"`
}

// Lacks says what a node cannot do that replicas on that kind of storage need, and why. Empty:
// nothing.
func (c Capabilities) Lacks(t PoolType) string {
	switch {
	case c.LVM == "":
		return "LVM cannot be used: " + c.LVMReason
	case c.DRBD == "":
		return "DRBD cannot be used: " + c.DRBDReason
	case t == LVMThin && !c.Thin:
		return "thin pools cannot be used: " + c.ThinReason
	}
	return ""
}

// DRBD84 says that the node's kernel has DRBD 8.4: two peers, no quorum.
func (c Capabilities) DRBD84() bool { return c.DRBD == "8.4" }
