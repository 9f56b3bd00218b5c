package transition

import (
	"fmt"
	"slices"

	"rvol/coordinator/model"
	"rvol/drbd"
)

var repairDiskfulV1 = plan{
	name: "repair-diskful/v1", kind: "RepairReplica", steps: append(slices.Clone(membership), forgetLost, settleQuorum),
}

var repairTieBreakerV1 = plan{
	name: "repair-tiebreaker/v1", kind: "RepairReplica", steps: append(slices.Clone(membership), forgetLost),
}

// Repair begins to put another in the place of a copy or tie-breaker that is away with its
// node. The new one is made, and filled, first; the old one stays a member meanwhile, so that
// it wins if it comes back before, and nobody waits for its word. Then it is forgotten.
func Repair(in Input, id int) (Outcome, error) {
	if in.part(id) == model.TieBreaker {
		return repairTieBreaker(in, id)
	}
	m, err := in.copyToGo(id)
	if err != nil {
		return Outcome{}, err
	}
	if why := in.mayRepair(m); why != "" {
		return Outcome{}, fmt.Errorf("%w: %s", model.ErrBusy, why)
	}
	if in.old84() {
		return in.repair84(m)
	}
	if err := in.roomForCopy(); err != nil {
		return Outcome{}, err
	}
	d := newDraft(in, 0)
	r, err := d.newReplica(in, model.Diskful, "")
	if err != nil {
		return Outcome{}, err
	}
	s := newScript(in)
	s.place(r.ID, model.ReplicaPlace{})
	s.gainDisk(r.ID)
	s.add(ForgetLost, id)
	s.become(id, "")
	s.add(SettleQuorum, id)
	s.add(ReleaseReplica, id)
	return repairDiskfulV1.begun(in, d, fmt.Sprintf("replace %s, lost with node %s, as %s", m.Name, m.Node, r.Name), s), nil
}

// repairTieBreaker lets both tie-breakers be members for a while: then neither decides alone,
// so that no two halves have one each.
func repairTieBreaker(in Input, id int) (Outcome, error) {
	if err := mayStart(in, false); err != nil {
		return Outcome{}, err
	}
	m, err := in.there(id)
	if err != nil {
		return Outcome{}, err
	}
	if m.InUse {
		return Outcome{}, inUse(m)
	}
	if why := in.stillThere(m); why != "" {
		return Outcome{}, fmt.Errorf("%w: %s", model.ErrBusy, why)
	}
	d := newDraft(in, 0)
	r, err := d.newReplica(in, model.TieBreaker, "")
	if err != nil {
		return Outcome{}, err
	}
	s := newScript(in)
	s.place(r.ID, model.ReplicaPlace{})
	s.join(r.ID, model.TieBreaker)
	s.add(ForgetLost, id)
	s.become(id, "")
	s.add(ReleaseReplica, id)
	return repairTieBreakerV1.begun(in, d, fmt.Sprintf("replace tie-breaker %s, lost with node %s, as %s", m.Name, m.Node, r.Name), s), nil
}

// mayRepair says why a copy is not taken for lost.
func (in Input) mayRepair(m Member) string {
	if in.part(m.ID) != model.Diskful {
		return fmt.Sprintf("replica %d has no disk in the mesh", m.ID)
	}
	if why := in.stillThere(m); why != "" {
		return why
	}
	return lastCopy(in, m.ID)
}

// repair84 lets a copy go first: DRBD 8.4 has one peer. It is known to be of no use only
// when its node is fenced, or when the other one was let go on alone.
func (in Input) repair84(m Member) (Outcome, error) {
	overtaken := in.Status.Sole != nil && *in.Status.Sole != m.ID
	if !m.Known && !m.Fenced && !overtaken && len(in.mesh()) > 1 {
		return Outcome{}, fmt.Errorf("%w: DRBD 8.4 has one peer: replica %s goes before its successor is filled, and it may be UpToDate; say that its node is off with `rvol node fence %s`, or accept one copy for that time with `rvol replica move %s --accept-single-copy`",
			model.ErrBusy, m.Name, m.Node, m.Name)
	}
	return Replace(in, m.ID, model.ReplicaPlace{}, true)
}

// stillThere says why a member cannot be taken for gone; "": DRBD is proven to be down, or
// cut off, there. Members that are heard of are connected with it no more; alone it has no
// quorum, now or later, unless it meets one of them again.
func (in Input) stillThere(m Member) string {
	if m.Known {
		if m.Up {
			return fmt.Sprintf("replica %s is up on its node", name(m))
		}
		return ""
	}
	for _, o := range in.mesh() {
		switch {
		case o.ID == m.ID:
		case !o.Known && !o.Fenced:
			return fmt.Sprintf("no report of replica %s either: it may be connected with replica %s", name(o), name(m))
		case o.Known && o.Up && o.connection(m.ID) == drbd.Connected:
			return fmt.Sprintf("replica %s is connected with replica %s: its data is there, its agent is not", name(o), name(m))
		}
	}
	return ""
}

// excused says that nobody waits for a member's word: it is being replaced because it is
// gone, or fenced while another one is.
func (in Input) excused(m Member) bool {
	if m.Known && m.Up {
		return false
	}
	for i := range in.Status.Transitions {
		for _, s := range in.Status.Transitions[i].Steps {
			lost := s.Name == ForgetLost && s.Status != model.StepCompleted
			if lost && (s.Is(m.ID) || m.Fenced) {
				return in.stillThere(m) == ""
			}
		}
	}
	return false
}

// Lost is the replica that a transition replaces because it is gone, as long as it has not
// been forgotten; nil: there is none.
func Lost(t *model.Transition) *int {
	for _, s := range t.Steps {
		if s.Name == ForgetLost && s.Status == model.StepPending {
			return s.Replica
		}
	}
	return nil
}

// Sound says that a copy is as good as any: UpToDate, and connected with another that is. One
// that was away calls itself UpToDate before it has heard of what it missed.
func Sound(in Input, id int) bool {
	m, ok := in.replica(id)
	return ok && illDisk(m) == "" && slices.ContainsFunc(in.disks(id), func(o Member) bool {
		return illDisk(o) == "" && m.connection(o.ID) == drbd.Connected && o.connection(id) == drbd.Connected
	})
}

// Filled says that the copy which a transition adds is complete.
func Filled(in Input, i int) bool {
	return slices.ContainsFunc(in.Status.Transitions[i].Steps, func(s model.TransitionStep) bool {
		if s.Name != Synchronize || s.Replica == nil {
			return false
		}
		m, ok := in.replica(*s.Replica)
		return s.Status == model.StepCompleted || s.Status == model.StepActive && ok && illDisk(m) == ""
	})
}

// Returned lets a copy leave as any other does that was given up for lost and is back, after
// its successor was complete.
func Returned(in Input, i int) Outcome {
	t := &in.Status.Transitions[i]
	id := Lost(t)
	if id == nil {
		return Outcome{}
	}
	d, s := newDraft(in, i), newScript(in)
	s.remove(*id)
	s.takeVotes()
	d.turn(in, s.steps, "")
	return d.outcome(fmt.Sprintf("%s: replica %d is back: it leaves as any other does", what(in, t), *id))
}
