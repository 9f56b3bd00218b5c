package broken

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// Copy is a replica with a disk, and what is known of it.
type Copy struct {
	*model.Replica
	Known    bool   // its node's report can be relied on
	Fenced   bool   // the operator said that its node is off, or lost
	Up       bool   // the kernel has the resource
	Used     string // by whom; empty: nobody
	State    inventory.ReplicaState
	Resource inventory.Resource
}

// Input is everything a decision may look at. Records are shared: copies are changed only.
type Input struct {
	Volume *model.Volume
	Status *model.VolumeStatus
	Copies []Copy // members with a disk, sorted by id
	Now    time.Time
}

func (in Input) copyOf(id int) (Copy, bool) {
	i := slices.IndexFunc(in.Copies, func(c Copy) bool { return c.ID == id })
	if i < 0 {
		return Copy{}, false
	}
	return in.Copies[i], true
}

// Disk is the worst disk state of its devices; empty: not known.
func (c Copy) Disk() drbd.DiskState {
	if !c.Known || !c.Up {
		return ""
	}
	return c.Resource.Disk()
}

// From is how it stands apart from another copy.
func (c Copy) From(id int) (inventory.Apart, bool) {
	i := slices.IndexFunc(c.State.Apart, func(a inventory.Apart) bool { return a.Peer == id })
	if !c.Known || i < 0 {
		return inventory.Apart{}, false
	}
	return c.State.Apart[i], true
}

// Missing is how many bytes written here another copy lacks.
func Missing(a inventory.Apart) int64 {
	n := int64(0)
	for _, d := range a.Devices {
		n += d.OutOfSync
	}
	return n
}

// generations are what its devices hold now; nil: not all were read.
func (c Copy) generations() []drbd.UUID {
	if len(c.State.Apart) == 0 {
		return nil
	}
	var out []drbd.UUID
	for _, d := range c.State.Apart[0].Devices { // the same with every peer
		if d.Generations.Current == 0 {
			return nil
		}
		out = append(out, d.Generations.Current)
	}
	return out
}

// Split says that two copies were both written alone: each stands apart from the other, and
// neither holds what the other one was when they parted.
func Split(a, b Copy) bool {
	mine, one := a.From(b.ID)
	theirs, two := b.From(a.ID)
	if !one || !two {
		return false
	}
	for _, d := range mine.Devices {
		i := slices.IndexFunc(theirs.Devices, func(o inventory.ApartDevice) bool { return o.Number == d.Number })
		if i < 0 || d.Generations.Current == 0 || theirs.Devices[i].Generations.Current == 0 {
			continue
		}
		if d.Generations.Apart(theirs.Devices[i].Generations) {
			return true
		}
	}
	return false
}

// Condition is the volume's SplitBrain, when there is one.
func Condition(in Input) (model.Condition, bool) {
	var torn []string
	for _, c := range in.Copies {
		if slices.ContainsFunc(in.Copies, func(o Copy) bool { return o.ID != c.ID && Split(c, o) }) {
			torn = append(torn, fmt.Sprintf("%d on %s", c.ID, c.Node))
		}
	}
	if len(torn) == 0 {
		return model.Condition{}, false
	}
	return model.Condition{
		Type: "SplitBrain", Status: model.True, Reason: "BothWereWritten",
		Message: fmt.Sprintf("replicas %s were each written alone, and DRBD connects them no more: `rvol volume resolve %s` shows what each says of itself, with --keep ID one is kept",
			strings.Join(torn, " and "), in.Volume.Name),
	}, true
}
