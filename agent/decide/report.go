package decide

import "rvol/drbd"

// A Report is what the coordinators are told of this node.
type Report struct {
	VGs          []VG
	LVs          []LV
	StorageError string // why this is not a complete inventory; empty: it is
	Resources    []drbd.Resource
	DRBDError    string   // the same of Resources
	DRBD84       bool     // Resources are those of DRBD 8.4, which does not know peers by id
	Files        []string // for drbdadm, in our folder: of which resources
	Replicas     []ReplicaState
	Released     []string
	Conditions   []Condition
	Capabilities Capabilities
	Addresses    map[string]string // by network
	Accepted     Order
	Kept         []Resource // of earlier orders: held still, and none released it
}

// A Condition is a finding about the machine, with its remedy.
type Condition struct {
	Type    string
	Status  string // True, False, Unknown
	Reason  string
	Message string
}

// Capabilities are what this node can do, and why not.
type Capabilities struct {
	DRBD       string // "8.4", "9" or empty
	DRBDFull   string
	DRBDReason string
	MaxPeers   int
	LVM        string
	LVMReason  string
	Thin       bool
	ThinReason string
}

// A Hello is how a node introduces itself.
type Hello struct {
	Node         string
	HostName     string
	MachineID    string
	BootID       string
	AgentVersion string
	Kernel       string
	Addresses    map[string]string
	Missing      map[string]string // by network: why its address is not on the machine now
	Capabilities Capabilities
	Accepted     Order
	Health       string // IP:PORT of the agent's own door
	HealthError  string // why nobody reaches it there now; empty: it is open
}
