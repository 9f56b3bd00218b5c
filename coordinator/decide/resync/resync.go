package resync

import (
	"fmt"
	"time"

	"rvol/drbd"
)

// Stuck is the condition of a volume with a copy that does not get on; its reasons.
const (
	Stuck      = "ResyncStuck"
	NoProgress = "NoProgress"
	Paused     = "Paused" // by somebody, or until another resync is over
	Unnoticed  = "EndUnnoticed"
)

// Patience is how long nothing may have been copied before that is told.
const Patience = 10 * time.Minute

// Copy is a device of a replica that is being filled, or that fills another and has nothing left to do.
type Copy struct {
	Replica  string
	Node     string
	Resource string // DRBD's name of it
	Device   int
	State    drbd.ReplState
	Percent  float64       // that is done
	Still    time.Duration // how long nothing has moved
}

// Follows says whether a device is a Copy, by its replication state and the bytes that are left.
func Follows(s drbd.ReplState, left int64) bool {
	return s == drbd.SyncTarget || s == drbd.PausedSyncT || s == drbd.SyncSource && left == 0
}

// Judge tells of the first copy that has not moved for long. An empty reason: there is none.
func Judge(copies []Copy) (reason, message string) {
	for _, c := range copies {
		if c.Still < Patience {
			continue
		}
		if c.State == drbd.SyncSource {
			return Unnoticed, fmt.Sprintf("device %d of replica %s on node %s: for %s it has had nothing left to copy, and waits to hear that the other copy is filled: `drbdadm pause-sync %s`, then `drbdadm resume-sync %s` on the other's node tell it",
				c.Device, c.Replica, c.Node, Patience, c.Resource, c.Resource)
		}
		about := fmt.Sprintf("device %d of replica %s on node %s: nothing was copied for %s, %.1f %% are", c.Device, c.Replica, c.Node, Patience, c.Percent)
		if c.State == drbd.PausedSyncT {
			return Paused, fmt.Sprintf("%s: it waits for another resync, or somebody has paused it: `drbdadm resume-sync %s` on %s and on the node that fills it", about, c.Resource, c.Node)
		}
		return NoProgress, fmt.Sprintf("%s: look at the disks and the network of %s and of the node that fills it; `drbdadm disconnect %s`, then `drbdadm connect %s` on %s goes on from where it is",
			about, c.Node, c.Resource, c.Resource, c.Node)
	}
	return "", ""
}
