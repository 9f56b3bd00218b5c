package model

import (
	"time"

	"rvol/drbd"
)

// OperationPhase tells how far an operation has come.
type OperationPhase string

// The phases of an operation. The committed Pending entry is the grant.
const (
	OperationPending   OperationPhase = "Pending"
	OperationRunning   OperationPhase = "Running"
	OperationSucceeded OperationPhase = "Succeeded"
	OperationFailed    OperationPhase = "Failed"
)

// OperationCreateNewUUID runs `drbdsetup new-current-uuid`.
const OperationCreateNewUUID = "CreateNewUUID"

// OperationCreateVG makes a physical volume, a volume group and perhaps a thin pool on an empty disk.
const OperationCreateVG = "CreateVG"

// Operations on two copies of a formed volume.
const (
	OperationReconnect      = "Reconnect"      // to a peer that DRBD has given up
	OperationDiscardChanges = "DiscardChanges" // and give up what this copy was written since
	OperationForceUpToDate  = "ForceUpToDate"  // take this copy as good
	OperationVerify         = "Verify"         // compare with the other copy
	OperationRepair         = "Repair"         // copy what differs: on DRBD 8.4 to the other copy, on 9 from it
)

// Operation is a one-off command on a node, run at most once.
type Operation struct {
	Meta
	Type    string          `json:"type"`
	Node    string          `json:"node"`
	Volume  string          `json:"volume,omitempty"`
	Replica int             `json:"replica"`
	NewUUID *NewUUIDParams  `json:"new_uuid,omitempty"`
	VG      *CreateVGParams `json:"vg,omitempty"`
	Peer    *WithPeerParams `json:"with_peer,omitempty"`
	Phase   OperationPhase  `json:"phase"`
	Result  string          `json:"result,omitempty"` // for people
	DoneAt  time.Time       `json:"done_at,omitzero"`

	OutOfSync int64 `json:"out_of_sync,omitempty"` // bytes that a Verify found to differ
}

// Key is the operation's key.
func (o *Operation) Key() Key { return Key{KindOperation, o.Name} }

// NewUUIDParams are the parameters and the guard of CreateNewUUID.
type NewUUIDParams struct {
	ClearBitmap bool     `json:"clear_bitmap"`    // else force-resync: a full sync from this member
	Revision    int64    `json:"revision"`        // datamesh revision it belongs to
	Peers       []int    `json:"peers,omitempty"` // ids that must be Connected and Inconsistent
	LVUUIDs     []string `json:"lv_uuids"`        // per device: the LV it may run on
}

// CreateVGParams are the parameters of CreateVG.
type CreateVGParams struct {
	VG       string `json:"vg"`
	Device   string `json:"device"`
	ThinPool string `json:"thin_pool,omitempty"`
}

// WithPeerParams say which other copy an operation is about.
type WithPeerParams struct {
	Peer        int         `json:"peer"`                  // replica id
	Generations []drbd.UUID `json:"generations,omitempty"` // by device: what this copy must hold still; none: anything
}

// Over says that the operation ended, well or not.
func (o *Operation) Over() bool {
	return o.Phase == OperationSucceeded || o.Phase == OperationFailed
}
