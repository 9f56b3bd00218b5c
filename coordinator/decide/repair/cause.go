package repair

import (
	"fmt"
	"time"

	"rvol/coordinator/decide/formation"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// A Cause is what is wrong with a replica, as a word.
type Cause string

// The causes, the most urgent first.
const (
	NodeReinstalled   Cause = "NodeReinstalled"   // its machine was set up anew, without its volume group
	StorageGone       Cause = "StorageGone"       // its volume group, thin pool or logical volume is not there any more
	DiskFailed        Cause = "DiskFailed"        // DRBD has detached its disk
	PoolFull          Cause = "PoolFull"          // likewise, because its thin pool has no room: it is attached again
	NodeNotReady      Cause = "NodeNotReady"      // nobody hears of its node
	CopyMissing       Cause = "CopyMissing"       // the volume has fewer copies than its class wants
	TieBreakerMissing Cause = "TieBreakerMissing" // likewise
	NotEligible       Cause = "NotEligible"       // its place is not among those that its class allows
)

// Causes are all of them.
func Causes() []Cause {
	return []Cause{NodeReinstalled, StorageGone, DiskFailed, PoolFull, NodeNotReady, CopyMissing, TieBreakerMissing, NotEligible}
}

// DiskGrace is how long a disk must be away before its copy is replaced: long enough for a
// path or a cable to come back, and for somebody who is at work there. A class that repairs
// nodes sooner repairs disks sooner.
const DiskGrace = 5 * time.Minute

// PlaceGrace is how long a place must be out of favour before a replica leaves it: a node that
// comes back is Ready a moment before it is eligible again.
const PlaceGrace = formation.MissingGrace

// Storage is what the node's full report says of what a replica stands on.
type Storage string

// The kinds of storage. The zero value: it is there, or nothing is known of it.
const (
	GroupGone  Storage = "volume group"
	PoolGone   Storage = "thin pool"
	VolumeGone Storage = "logical volume"
)

// Replica is a replica as far as its repair depends on it.
type Replica struct {
	*model.Replica
	Part        model.ReplicaType // in the mesh; "": it is no member
	NodeReady   bool
	NodeSays    string // why it is not
	Known       bool   // its node's report is there, and whole
	Reinstalled bool   // another machine has taken the node's name, and what it stands on was the former's
	Gone        Storage
	Full        string // why what it stands on may not grow; it is full, or nearly
	Up          bool
	Disk        drbd.DiskState
	Eligible    bool
	Leaving     bool // a change under way takes it away
}

// Find says what is wrong with a replica, and in words. "": nothing is that is known.
func Find(r Replica) (Cause, string) {
	if r.Deleting() || r.Leaving || r.Node == "" {
		return "", ""
	}
	if r.Part == model.Diskful {
		if cause, why := lost(r); cause != "" {
			return cause, why
		}
	}
	switch {
	case !r.NodeReady && !r.Known:
		return NodeNotReady, fmt.Sprintf("replica %s: node %s is not Ready: %s", r.Name, r.Node, r.NodeSays)
	case !r.Eligible && r.NodeReady && r.Type != model.Access:
		return NotEligible, fmt.Sprintf("replica %s is on node %s, which is no place of its class any more", r.Name, r.Node)
	}
	return "", ""
}

// lost says that the data of a copy is not there, though its node is.
func lost(r Replica) (Cause, string) {
	detached := r.Up && (r.Disk == drbd.Diskless || r.Disk == drbd.Failed)
	switch {
	case !r.Known || r.Up && !detached:
		return "", ""
	case r.Gone != "" && r.Reinstalled:
		return NodeReinstalled, fmt.Sprintf("replica %s: node %s was set up anew, and its %s is not there any more", r.Name, r.Node, r.Gone)
	case r.Gone != "":
		return StorageGone, fmt.Sprintf("replica %s: its %s on node %s is gone", r.Name, r.Gone, r.Node)
	case detached && r.Full != "":
		return PoolFull, fmt.Sprintf("replica %s: DRBD on node %s has detached its disk: %s", r.Name, r.Node, r.Full)
	case detached:
		return DiskFailed, fmt.Sprintf("replica %s: DRBD on node %s has detached its disk, which is %s", r.Name, r.Node, r.Disk)
	}
	return "", ""
}

// Grace is how long a loss must have lasted before a replica is replaced for it.
func (c Cause) Grace(repairAfter time.Duration) time.Duration {
	if c == NodeNotReady {
		return repairAfter
	}
	return min(repairAfter, DiskGrace)
}
