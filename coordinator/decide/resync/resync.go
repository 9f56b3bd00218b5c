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
)

// Patience is how long nothing may have been copied before that is told.
const Patience = 10 * time.Minute

// Copy is a device of a replica that is being filled.
type Copy struct {
	Replica  string
	Node     string
	Resource string // DRBD's name of it
	Device   int
	State    drbd.ReplState
	Percent  float64       // that is done
	Still    time.Duration // how long nothing has moved
}

// Filling says whether a replication state is that of a copy being filled.
func Filling(s drbd.ReplState) bool { return s == drbd.SyncTarget || s == drbd.PausedSyncT }

// Judge tells of the first copy that has not moved for long. An empty reason: there is none.
func Judge(copies []Copy) (reason, message string) {
	for _, c := range copies {
		if c.Still < Patience {
			continue
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
