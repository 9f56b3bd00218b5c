package transition

import (
	"fmt"
	"time"

	"rvol/drbd"
)

// LowerRedundancy and RaiseRedundancy change how many UpToDate copies a write needs: down
// before a copy goes, up after one is complete.
const (
	LowerRedundancy = "LowerRedundancy"
	RaiseRedundancy = "RaiseRedundancy"
)

var lowerRedundancy = step{
	name: LowerRedundancy, enter: setRedundancy, concerns: everybody, confirm: applied, slow: time.Minute,
}

var raiseRedundancy = step{
	name: RaiseRedundancy, guards: []guard{copiesUpToDate}, enter: setRedundancy, concerns: everybody, confirm: applied, slow: time.Minute,
}

// copiesUpToDate protects the volume's use: asked for more UpToDate copies than there are,
// DRBD would freeze it until they are.
func copiesUpToDate(a at) string {
	good := 0
	for _, m := range a.disks(-1) {
		good += b01(m.Known && m.Up && m.Resource.Disk() == drbd.UpToDate)
	}
	if want := a.stored().Redundancy; good < want {
		return fmt.Sprintf("%d copies are UpToDate, %d are to be required of every write", good, want)
	}
	return ""
}

func setRedundancy(a at, d *draft) {
	if d.status.Datamesh.Quorum > 0 {
		d.status.Datamesh.QuorumMinimumRedundancy = a.stored().Redundancy
	}
	d.revise()
}
