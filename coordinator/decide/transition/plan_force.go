package transition

import (
	"fmt"
	"slices"
	"time"

	"rvol/coordinator/model"
	"rvol/drbd"
)

// GiveUp takes a member out of the mesh whose node is gone: nobody waits for it, and the
// quorum becomes that of those that are left.
const GiveUp = "GiveUp"

var giveUp = step{
	name: GiveUp, guards: []guard{isGone, copyIsLeft}, enter: leaveGone,
	concerns: reachable, confirm: applied, slow: time.Minute,
}

var forceRemoveV1 = plan{
	name: "force-remove/v1", kind: "ForceRemoveReplica", compatible: true, steps: []step{giveUp, releaseReplica, loseVote},
}

// ForceRemove begins to give up a replica whose node is fenced or lost. What was under way
// about it ends there.
func ForceRemove(in Input, id int) (Outcome, error) {
	m, ok := in.replica(id)
	switch {
	case !in.Status.Formed || in.Volume.Deleting():
		return Outcome{}, mayStart(in, true)
	case !ok:
		return Outcome{}, fmt.Errorf("%w: it has no replica %d", model.ErrInvalid, id)
	case m.Deleting():
		return Outcome{}, fmt.Errorf("%w: replica %s is being removed already", model.ErrBusy, m.Name)
	case !m.Fenced:
		return Outcome{}, fmt.Errorf("%w: node %s is not fenced: a replica is given up only when its node is known to be off; say so with `rvol node fence %s`, or remove the replica without --force",
			model.ErrBusy, m.Node, m.Node)
	}
	for _, why := range []string{gone(in, m), lastCopy(in, id)} {
		if why != "" {
			return Outcome{}, fmt.Errorf("%w: %s", model.ErrBusy, why)
		}
	}
	d, s := newDraft(in, 0), newScript(in)
	d.cut(id)
	if in.part(id) != "" {
		s.add(GiveUp, id)
	}
	s.add(ReleaseReplica, id)
	if len(d.status.Transitions) > 0 { // what goes on has it among its steps
		s.ties = nil
	}
	return forceRemoveV1.begun(in, d, fmt.Sprintf("give up %s on %s", m.Name, m.Node), s), nil
}

// cut takes what is about a replica out of the transitions under way. A change that was to
// add it ends: what follows was to be done because it would be there.
func (d *draft) cut(id int) {
	var kept []model.Transition
	for _, t := range d.status.Transitions {
		if t.Plan == ResizePlan || !concerns(&t, id) {
			kept = append(kept, t)
			continue
		}
		open := func(s model.TransitionStep) bool { return s.Is(id) && s.Status != model.StepCompleted }
		adds := slices.ContainsFunc(t.Steps, func(s model.TransitionStep) bool { return open(s) && slices.Contains(adding, s.Name) })
		t.Steps = slices.DeleteFunc(slices.Clone(t.Steps), open)
		if !adds && done(&t) < len(t.Steps) {
			kept = append(kept, t)
		}
	}
	d.status.Transitions = kept
}

// adding are the steps that bring a replica in.
var adding = []string{PlaceReplica, JoinMesh, GainVote, AttachDisk, Synchronize}

// isGone protects what still serves: a member that somebody is connected with is not gone.
func isGone(a at) string { return gone(a.Input, a.subject()) }

func gone(in Input, m Member) string {
	for _, o := range in.mesh() {
		if o.ID != m.ID && o.Known && o.Up && !in.old84() && o.connection(m.ID) == drbd.Connected {
			return fmt.Sprintf("replica %s is connected with replica %s: its node is not off", name(o), name(m))
		}
	}
	if m.Known {
		return fmt.Sprintf("the agent of node %s reports: remove replica %s without --force", m.Node, m.Name)
	}
	return ""
}

// copyIsLeft protects the data: without an UpToDate copy among those that stay it would be
// given up with the member.
func copyIsLeft(a at) string { return lastCopy(a.Input, *a.stored().Replica) }

func lastCopy(in Input, id int) string {
	if in.part(id) != model.Diskful {
		return ""
	}
	for _, m := range in.disks(id) {
		if overtaken(in, m) == "" && (illDisk(m) == "" || m.Known && m.takesOver()) {
			return ""
		}
	}
	return fmt.Sprintf("no copy but that of replica %d is known to be UpToDate: what was written last would be given up with it", id)
}

// takesOver says that a copy whose Primary vanished may become Primary: it is Consistent,
// and has quorum.
func (m Member) takesOver() bool {
	for _, d := range m.Resource.Devices {
		if d.Disk != drbd.UpToDate && (d.Disk != drbd.Consistent || !d.Quorum) {
			return false
		}
	}
	return m.Up && len(m.Resource.Devices) > 0
}

// reachable: those whose nodes are not given up too must confirm.
func reachable(a at, m Member) bool { return a.part(m.ID) != "" && !m.Fenced }

func leaveGone(a at, d *draft) {
	leave(a, d)
	d.setQuorum(a)
	mesh := &d.status.Datamesh
	copies := 0
	for _, m := range mesh.Members {
		copies += b01(m.Type == model.Diskful)
	}
	mesh.QuorumMinimumRedundancy = min(mesh.QuorumMinimumRedundancy, max(1, copies))
}
