package transition

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
)

// Input is everything a plan may look at. Records are shared: copies are changed only.
type Input struct {
	Volume  *model.Volume
	Status  *model.VolumeStatus
	Members []Member // all replicas, sorted by id
	Layout  layout.Layout
	Now     time.Time
	InStep  []time.Duration // by transition: how long its active step has lasted while all agents concerned had reported
	UIDs    []string        // fresh ones, for new replicas
	// Resyncs is how many other volumes are being copied to or from a node; MaxResyncs is how
	// many may be, 0: any number.
	Resyncs    map[string]int
	MaxResyncs int
}

// Member is one replica with what its agent says.
type Member struct {
	*model.Replica
	Reservations []*model.Reservation // by device
	HostName     string
	Zone         string
	Addresses    map[string]netip.Addr
	InUse        bool // an attachment on its node stands
	Fenced       bool // the operator said that its node is off, or lost
	Known        bool // its node's report can be relied on
	Accepted     uint64
	State        inventory.ReplicaState
	Resource     inventory.Resource
	Up           bool // the kernel has the resource
}

// Outcome is what is to be written, and what is waited for.
type Outcome struct {
	Put    []model.Object
	Delete []model.Object
	Cause  string        // for the log, when there is something to write
	Wait   string        // for people: what is waited for
	Again  time.Duration // look again after this long, should nothing happen before
}

// Changed says whether there is something to write.
func (o Outcome) Changed() bool { return len(o.Put)+len(o.Delete) > 0 }

// ForRepair says of the transition that an outcome begins why that was not asked for.
func (o Outcome) ForRepair(cause string) Outcome {
	if vs := o.Status(); vs != nil && len(vs.Transitions) > 0 {
		vs.Transitions[len(vs.Transitions)-1].Repair = cause
	}
	return o
}

// Status is the volume's status as it is to be; nil: it stays.
func (o Outcome) Status() *model.VolumeStatus {
	for _, put := range o.Put {
		if vs, ok := put.(*model.VolumeStatus); ok {
			return vs
		}
	}
	return nil
}

// Added are the replicas that are to be, and have no place yet.
func (o Outcome) Added() []*model.Replica {
	var out []*model.Replica
	for _, put := range o.Put {
		if r, ok := put.(*model.Replica); ok && r.Node == "" && !r.Deleting() {
			out = append(out, r)
		}
	}
	return out
}

// old84 says that the volume's replicas run DRBD 8.4: two of them, no quorum, none diskless.
func (in Input) old84() bool { return in.Status.DRBD == "8.4" }

// diskful are the replicas with a disk that stay, sorted by id.
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

// replica finds a replica by its id.
func (in Input) replica(id int) (Member, bool) {
	i := slices.IndexFunc(in.Members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		return Member{}, false
	}
	return in.Members[i], true
}

// part is what a replica is in the mesh; "": it is no member.
func (in Input) part(id int) model.ReplicaType {
	m, _ := in.Status.Datamesh.Member(id)
	return m.Type
}

// mesh are the replicas that are members now, sorted by id.
func (in Input) mesh() []Member {
	var out []Member
	for _, m := range in.Members {
		if in.part(m.ID) != "" {
			out = append(out, m)
		}
	}
	return out
}

// disks are the members whose disk is in the mesh, but for one of them; -1: all.
func (in Input) disks(but int) []Member {
	var out []Member
	for _, m := range in.mesh() {
		if m.ID != but && in.part(m.ID) == model.Diskful {
			out = append(out, m)
		}
	}
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
