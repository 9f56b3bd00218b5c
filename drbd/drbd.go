package drbd

// Minor is the number of a DRBD device on its node: /dev/drbd<Minor>.
type Minor int

// NodeID is the number of a node within one resource, 0 to 31.
type NodeID int

// NoNode stands where DRBD 8.4 knows no node-id.
const NoNode NodeID = -1

// MaxPeers is the number of bitmap slots that metadata of DRBD 9 gets here:
// room for eight diskful replicas.
const MaxPeers = 7

// Role says who may open a resource for writing.
type Role string

// The roles of a resource or a peer.
const (
	Primary     Role = "Primary"
	Secondary   Role = "Secondary"
	RoleUnknown Role = "Unknown" // of a peer that is not connected
)

// DiskState says how good the data on a disk is.
type DiskState string

// The disk states of a device or of a peer's device.
const (
	Diskless     DiskState = "Diskless"
	Attaching    DiskState = "Attaching"
	Detaching    DiskState = "Detaching"
	Failed       DiskState = "Failed"
	Negotiating  DiskState = "Negotiating"
	Inconsistent DiskState = "Inconsistent"
	Outdated     DiskState = "Outdated"
	DUnknown     DiskState = "DUnknown" // of a peer that is not connected
	Consistent   DiskState = "Consistent"
	UpToDate     DiskState = "UpToDate"
)

// ConnState says how a connection to one peer stands.
type ConnState string

// The states of a connection. On DRBD 8.4 a StandAlone connection is gone:
// such a resource lists no peer.
const (
	StandAlone     ConnState = "StandAlone"
	Disconnecting  ConnState = "Disconnecting"
	Unconnected    ConnState = "Unconnected"
	Timeout        ConnState = "Timeout"
	BrokenPipe     ConnState = "BrokenPipe"
	NetworkFailure ConnState = "NetworkFailure"
	ProtocolError  ConnState = "ProtocolError"
	TearDown       ConnState = "TearDown"
	Connecting     ConnState = "Connecting"
	Connected      ConnState = "Connected"
)

// ReplState says what a device does with one connected peer.
type ReplState string

// The replication states.
const (
	Off           ReplState = "Off"
	Established   ReplState = "Established"
	StartingSyncS ReplState = "StartingSyncS"
	StartingSyncT ReplState = "StartingSyncT"
	WFBitMapS     ReplState = "WFBitMapS"
	WFBitMapT     ReplState = "WFBitMapT"
	WFSyncUUID    ReplState = "WFSyncUUID"
	SyncSource    ReplState = "SyncSource"
	SyncTarget    ReplState = "SyncTarget"
	VerifyS       ReplState = "VerifyS"
	VerifyT       ReplState = "VerifyT"
	PausedSyncS   ReplState = "PausedSyncS"
	PausedSyncT   ReplState = "PausedSyncT"
	Ahead         ReplState = "Ahead"
	Behind        ReplState = "Behind"
)

// Resyncing says that data flows, waits to flow or is being compared.
func (s ReplState) Resyncing() bool {
	return s != Off && s != Established && s != ""
}

// Comparing says that both sides are being compared, and nothing is copied.
func (s ReplState) Comparing() bool { return s == VerifyS || s == VerifyT }

// Answer is yes, no, or nothing: the tools of this version do not say.
type Answer string

// The answers.
const (
	Unsaid Answer = ""
	No     Answer = "no"
	Yes    Answer = "yes"
)
