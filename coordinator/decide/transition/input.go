package transition

import (
	"cmp"
	"slices"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
)

// Input is everything a plan may look at. Records are shared: copies are changed only.
type Input struct {
	Volume  *model.Volume
	Status  *model.VolumeStatus
	Members []Member // all replicas, sorted by id
	Now     time.Time
	InStep  time.Duration // how long the active step has lasted while all agents concerned had reported
}

// Member is one replica with what its agent says.
type Member struct {
	*model.Replica
	Reservations []*model.Reservation // by device
	Known        bool                 // its node's report can be relied on
	Accepted     uint64               // log index of the newest order its agent accepted
	State        inventory.ReplicaState
	Resource     inventory.Resource
	Up           bool // the kernel has the resource
}

// Outcome is what is to be written, and what is waited for.
type Outcome struct {
	Put   []model.Object
	Cause string        // for the log, when there is something to write
	Wait  string        // for people: what is waited for
	Again time.Duration // look again after this long, should nothing happen before
}

// Changed says whether there is something to write.
func (o Outcome) Changed() bool { return len(o.Put) > 0 }

// diskful are the members with a disk that stay, sorted by id.
func (in Input) diskful() []Member {
	var out []Member
	for _, m := range in.Members {
		if m.Type == model.Diskful && !m.Deleting() {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// backing is what the agent says of the disk under one device.
func (m Member) backing(device int) inventory.Backing {
	for _, b := range m.State.Backing {
		if b.Number == device {
			return b
		}
	}
	return inventory.Backing{}
}

// size is how many bytes the kernel's device has; 0: it is not there.
func (m Member) size(device int) int64 {
	for _, d := range m.Resource.Devices {
		if d.Number == device {
			return d.Size
		}
	}
	return 0
}
