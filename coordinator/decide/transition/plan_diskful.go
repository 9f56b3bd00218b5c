package transition

import (
	"fmt"

	"rvol/coordinator/model"
)

var (
	addDiskfulV1     = plan{name: "add-diskful/v1", kind: "AddReplica", steps: membership}
	removeDiskfulV1  = plan{name: "remove-diskful/v1", kind: "RemoveReplica", steps: membership}
	replaceDiskfulV1 = plan{name: "replace-diskful/v1", kind: "MoveReplica", steps: membership}
)

// AddDiskful begins to add a copy.
func AddDiskful(in Input, to model.ReplicaPlace) (Outcome, error) {
	if err := mayStart(in, false); err != nil {
		return Outcome{}, err
	}
	if err := in.roomForCopy(); err != nil {
		return Outcome{}, err
	}
	if err := in.free(to); err != nil {
		return Outcome{}, err
	}
	d := newDraft(in, 0)
	r, err := d.newReplica(in, model.Diskful, "")
	if err != nil {
		return Outcome{}, err
	}
	s := newScript(in)
	s.place(r.ID, to)
	s.gainDisk(r.ID)
	return addDiskfulV1.begun(in, d, fmt.Sprintf("add copy %s %s", r.Name, somewhere(to)), s), nil
}

// roomForCopy says why the mesh can take no more copies.
func (in Input) roomForCopy() error {
	limit := model.MaxDiskful
	if in.old84() {
		limit = 2
	}
	if n := len(in.diskful()); n >= limit {
		return fmt.Errorf("%w: it has %d copies, DRBD %s connects no more", model.ErrInvalid, n, in.Status.DRBD)
	}
	return nil
}

// RemoveDiskful begins to remove a copy that the layout does not need.
func RemoveDiskful(in Input, id int) (Outcome, error) {
	m, err := in.copyToGo(id)
	if err != nil {
		return Outcome{}, err
	}
	if n := len(in.diskful()); n <= in.Layout.Diskful {
		return Outcome{}, fmt.Errorf("%w: its class wants %d copies and it has %d: `rvol replica move %s` puts this one elsewhere, another class asks for fewer",
			model.ErrInvalid, in.Layout.Diskful, n, m.Name)
	}
	d, s := newDraft(in, 0), newScript(in)
	s.remove(id)
	return removeDiskfulV1.begun(in, d, fmt.Sprintf("remove copy %s from %s", m.Name, m.Node), s), nil
}

// copyToGo is a copy that may be asked to go.
func (in Input) copyToGo(id int) (Member, error) {
	m, err := in.copyThere(id)
	if err == nil && m.InUse {
		err = inUse(m)
	}
	return m, err
}

func inUse(m Member) error {
	return fmt.Errorf("%w: replica %s is in use on node %s: detach the volume there first", model.ErrBusy, m.Name, m.Node)
}

// copyThere is a copy that a change may be about.
func (in Input) copyThere(id int) (Member, error) {
	if err := mayStart(in, false); err != nil {
		return Member{}, err
	}
	m, err := in.there(id)
	switch {
	case err != nil:
		return m, err
	case m.Type != model.Diskful:
		return m, fmt.Errorf("%w: replica %s is %s: it has no copy", model.ErrInvalid, m.Name, m.Type)
	}
	return m, nil
}

// Replace begins to put a copy elsewhere: a new one is made and filled, then the old one
// goes. DRBD 8.4 has one peer: there the old one leaves before the new one is filled, and
// while that lasts there is a single copy, which singleCopy accepts.
func Replace(in Input, id int, to model.ReplicaPlace, singleCopy bool) (Outcome, error) {
	m, err := in.copyToGo(id)
	if err != nil {
		return Outcome{}, err
	}
	if err := in.free(to); err != nil {
		return Outcome{}, err
	}
	if err := in.mayReplace(m, singleCopy); err != nil {
		return Outcome{}, err
	}
	d := newDraft(in, 0)
	r, err := d.newReplica(in, model.Diskful, "")
	if err != nil {
		return Outcome{}, err
	}
	s := newScript(in)
	s.place(r.ID, to)
	switch {
	case in.old84() && s.voters() == 2:
		s.leave(id)
		s.gainDisk(r.ID)
		s.remove(id)
	default:
		s.gainDisk(r.ID)
		s.remove(id)
	}
	return replaceDiskfulV1.begun(in, d, fmt.Sprintf("move %s from %s %s, as %s", m.Name, m.Node, somewhere(to), r.Name), s), nil
}

// mayReplace says why a copy is not replaced.
func (in Input) mayReplace(m Member, singleCopy bool) error {
	if !in.old84() {
		if len(in.diskful()) >= model.MaxDiskful {
			return in.roomForCopy()
		}
		return nil
	}
	if len(in.mesh()) < 2 { // a second copy beside it, then it goes
		return nil
	}
	if !singleCopy && (!m.Known || m.Up && illDisk(m) == "") {
		return fmt.Errorf("%w: DRBD 8.4 has one peer: replica %s goes before its successor is filled, and until that is over there is one copy; accept that with --accept-single-copy",
			model.ErrBusy, m.Name)
	}
	if why := tooFewCopies(in, m.ID); why != "" {
		return fmt.Errorf("%w: %s", model.ErrBusy, why)
	}
	return nil
}
