package transition

import (
	"fmt"

	"rvol/coordinator/model"
)

var (
	addAccessV1        = plan{name: "add-access/v1", kind: "AddReplica", steps: membership, compatible: true}
	removeAccessV1     = plan{name: "remove-access/v1", kind: "RemoveReplica", steps: membership, compatible: true}
	addTieBreakerV1    = plan{name: "add-tiebreaker/v1", kind: "AddReplica", steps: membership, compatible: true}
	removeTieBreakerV1 = plan{name: "remove-tiebreaker/v1", kind: "RemoveReplica", steps: membership, compatible: true}
)

// AddAccess begins to let a node that has no copy reach the volume.
func AddAccess(in Input, node string) (Outcome, error) {
	return addDiskless(in, &addAccessV1, model.Access, model.ReplicaPlace{Node: node})
}

// RemoveAccess begins to take that away.
func RemoveAccess(in Input, id int) (Outcome, error) {
	return removeDiskless(in, &removeAccessV1, model.Access, id)
}

// AddTieBreaker begins to add a vote without a copy.
func AddTieBreaker(in Input, to model.ReplicaPlace) (Outcome, error) {
	return addDiskless(in, &addTieBreakerV1, model.TieBreaker, to)
}

// RemoveTieBreaker begins to remove one that the layout does not need.
func RemoveTieBreaker(in Input, id int) (Outcome, error) {
	others := 0
	for _, m := range in.Members {
		others += b01(m.ID != id && m.Type == model.TieBreaker && !m.Deleting() && in.part(m.ID) == model.TieBreaker)
	}
	if others < in.Layout.TieBreakers {
		return Outcome{}, fmt.Errorf("%w: its class wants %d tie-breakers: add another first, with `rvol replica add %s --type TieBreaker`",
			model.ErrInvalid, in.Layout.TieBreakers, in.Volume.Name)
	}
	return removeDiskless(in, &removeTieBreakerV1, model.TieBreaker, id)
}

func addDiskless(in Input, p *plan, typ model.ReplicaType, to model.ReplicaPlace) (Outcome, error) {
	if err := mayStart(in, true); err != nil {
		return Outcome{}, err
	}
	if in.old84() {
		return Outcome{}, fmt.Errorf("%w: UnsupportedByDRBD84: DRBD 8.4 has no replicas without a disk", model.ErrInvalid)
	}
	if err := in.free(to); err != nil {
		return Outcome{}, err
	}
	node := ""
	if typ == model.Access { // nothing is chosen for it
		node = to.Node
	}
	d := newDraft(in, 0)
	r, err := d.newReplica(in, typ, node)
	if err != nil {
		return Outcome{}, err
	}
	s := newScript(in)
	s.place(r.ID, to)
	s.join(r.ID, typ)
	return p.begun(in, d, fmt.Sprintf("add %s %s %s", typ, r.Name, somewhere(to)), s), nil
}

func removeDiskless(in Input, p *plan, typ model.ReplicaType, id int) (Outcome, error) {
	if err := mayStart(in, true); err != nil {
		return Outcome{}, err
	}
	m, err := in.there(id)
	switch {
	case err != nil:
		return Outcome{}, err
	case m.Type != typ:
		return Outcome{}, fmt.Errorf("%w: replica %s is %s, not %s", model.ErrInvalid, m.Name, m.Type, typ)
	case m.InUse:
		return Outcome{}, fmt.Errorf("%w: replica %s is in use on node %s: detach the volume there first", model.ErrBusy, m.Name, m.Node)
	}
	for i := range in.Status.Transitions {
		if t := &in.Status.Transitions[i]; concerns(t, id) {
			return Outcome{}, fmt.Errorf("%w: %s (%s) is under way", model.ErrBusy, what(in, t), t.Plan)
		}
	}
	s := newScript(in)
	s.remove(id)
	return p.begun(in, newDraft(in, 0), fmt.Sprintf("remove %s %s from %s", typ, m.Name, m.Node), s), nil
}

// concerns says whether a transition has a step about a replica that is not over.
func concerns(t *model.Transition, id int) bool {
	for i := range t.Steps {
		if t.Steps[i].Is(id) && t.Steps[i].Status != model.StepCompleted {
			return true
		}
	}
	return false
}
