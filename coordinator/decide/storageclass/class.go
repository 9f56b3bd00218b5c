package storageclass

import (
	"slices"
	"time"

	"rvol/coordinator/decide/repair"
	"rvol/coordinator/decide/rollout"
	"rvol/coordinator/model"
)

// The conditions of a class.
const (
	Ready                       = "Ready"
	StoragePoolReady            = "StoragePoolReady"
	ConfigurationRolledOut      = "ConfigurationRolledOut"
	VolumesSatisfyEligibleNodes = "VolumesSatisfyEligibleNodes"
)

// The conditions of volumes that classes count.
const (
	ConfigurationReady   = "ConfigurationReady"
	SatisfyEligibleNodes = "SatisfyEligibleNodes"
)

// Input is all that a class's status is made from.
type Input struct {
	Class      *model.Class
	PoolName   string
	Pool       *model.Pool        // nil: it does not exist
	PoolStatus *model.PoolStatus  // nil: it has not been looked at
	Standing   *model.ClassStatus // nil: there is none yet
	Volumes    []Volume           // all volumes of the class
	Now        time.Time          // of transitions of conditions
}

// Volume is one volume of the class.
type Volume struct {
	*model.Volume
	Status *model.VolumeStatus // nil: it has none yet
}

// Next is the status as it should stand.
func Next(in Input) *model.ClassStatus {
	st := &model.ClassStatus{}
	st.Name = in.Class.Name
	if in.Standing != nil {
		st = model.Clone(in.Standing)
	}
	st.PoolName, st.PoolBasedOnGeneration = in.PoolName, in.Class.Generation
	pool := poolReady(in)
	ready := configure(in, pool, st)
	st.Volumes = Count(in.Volumes, st.ConfigurationGeneration)
	plan := Rollout(in.Class, st, in.Volumes)
	repair := Repair(in.Class, in.Volumes)
	for _, c := range []model.Condition{pool, ready, rolledOut(in.Class, in.Volumes, st, plan), satisfies(st.Volumes, repair)} {
		c.ObservedGeneration = in.Class.Generation
		st.Conditions = st.Conditions.With(c, in.Now)
	}
	return st
}

// Rollout is whose turn it is to take the configuration in force. A volume that took it keeps its slot until its members
// have rendered it.
func Rollout(c *model.Class, st *model.ClassStatus, volumes []Volume) rollout.Plan {
	list := make([]rollout.Volume, 0, len(volumes))
	for _, v := range volumes {
		turn := v.turn(stale(v.Status) && v.Status.ConfigurationGeneration != st.ConfigurationGeneration)
		turn.Running = turn.Running || v.Status != nil && (v.Status.ConfiguringRevision != 0 || changing(v.Status))
		if turn.Wants && v.Status.Declined == st.ConfigurationGeneration {
			turn.Held = "its change was cancelled"
		}
		list = append(list, turn)
	}
	return rollout.Order(c.Rollout, atLeastOne(c.RolloutMax), list)
}

// Repair is whose turn it is to have its replicas brought back to eligible nodes.
func Repair(c *model.Class, volumes []Volume) rollout.Plan {
	list := make([]rollout.Volume, 0, len(volumes))
	for _, v := range volumes {
		t := v.turn(inConflict(v.Status))
		if !t.Running && t.Held == "" {
			t.Held = waits(v.Status)
		}
		list = append(list, t)
	}
	return rollout.Order(c.Conflict, atLeastOne(c.ConflictMax), list)
}

// waits says what a volume to be repaired waits for that is not its turn: the return of a
// node, or somebody. Others may go before it.
func waits(vs *model.VolumeStatus) string {
	if vs == nil {
		return ""
	}
	c, _ := vs.Conditions.Get(repair.Needed)
	switch c.Reason {
	case repair.WaitingForReturn, repair.Disabled, repair.Blocked:
		return c.Message
	}
	return ""
}

func (v Volume) turn(wants bool) rollout.Volume {
	t := rollout.Volume{Name: v.Name, Wants: wants}
	switch {
	case v.Status == nil || !wants:
	case v.Deleting():
		t.Held = "it is being deleted"
	case !v.Status.Formed:
		t.Held = "it is not formed yet"
	case v.Stopped:
		t.Held = "it is stopped"
	default:
		t.Running = Moving(v.Status)
	}
	return t
}

// changing says that a volume is being given the layout of its class.
func changing(vs *model.VolumeStatus) bool {
	return slices.ContainsFunc(vs.Transitions, func(t model.Transition) bool { return t.Was != nil })
}

// Moving says that a transition moves data of the volume: whatever its reason, it takes a slot.
func Moving(vs *model.VolumeStatus) bool {
	for _, t := range vs.Transitions {
		if !t.Compatible {
			return true
		}
	}
	return false
}

func atLeastOne(n int) int {
	if n < 1 {
		return model.DefaultMaxParallel
	}
	return n
}
