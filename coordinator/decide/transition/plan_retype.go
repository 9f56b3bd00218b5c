package transition

import (
	"fmt"

	"rvol/coordinator/model"
)

var (
	retypeV1        = plan{name: "change-type/v1", kind: "ChangeReplicaType", steps: membership}
	changeBackingV1 = plan{name: "change-backing/v1", kind: "ChangeBacking", steps: membership}
)

// Retype begins to make a replica one of another type, where it is.
func Retype(in Input, id int, typ model.ReplicaType, to model.ReplicaPlace) (Outcome, error) {
	if err := mayStart(in, false); err != nil {
		return Outcome{}, err
	}
	m, err := in.there(id)
	if err != nil {
		return Outcome{}, err
	}
	if m.Type == typ {
		return Outcome{}, nil
	}
	if err := in.mayRetype(m, typ); err != nil {
		return Outcome{}, err
	}
	s := newScript(in)
	switch {
	case typ == model.Diskful:
		s.raise(id, to)
	case m.Type == model.Diskful:
		s.lower(id, typ)
	default:
		s.add(ChangePart, id).Type = typ
	}
	return retypeV1.begun(in, newDraft(in, 0), fmt.Sprintf("make %s on %s a %s", m.Name, m.Node, typ), s), nil
}

// mayRetype keeps what DRBD can do, what is in use, and what the class asks for.
func (in Input) mayRetype(m Member, typ model.ReplicaType) error {
	switch {
	case in.old84():
		return fmt.Errorf("%w: UnsupportedByDRBD84: DRBD 8.4 has replicas with a disk only", model.ErrInvalid)
	case typ != model.Diskful && typ != model.TieBreaker && typ != model.Access:
		return fmt.Errorf("%w: replica type %q: want Diskful, TieBreaker or Access", model.ErrInvalid, typ)
	case m.InUse && (typ == model.TieBreaker || m.Type == model.Diskful):
		return fmt.Errorf("%w: replica %s is in use on node %s: detach the volume there first", model.ErrBusy, m.Name, m.Node)
	}
	return in.keepsLayout(m, typ)
}

func (in Input) keepsLayout(m Member, typ model.ReplicaType) error {
	ties := 0
	for _, o := range in.Members {
		ties += b01(o.Type == model.TieBreaker && !o.Deleting())
	}
	switch {
	case typ == model.Diskful && len(in.diskful()) >= model.MaxDiskful:
		return in.roomForCopy()
	case m.Type == model.Diskful && len(in.diskful()) <= in.Layout.Diskful:
		return fmt.Errorf("%w: its class wants %d copies and it has no more: add another first", model.ErrInvalid, in.Layout.Diskful)
	case m.Type == model.TieBreaker && ties <= in.Layout.TieBreakers:
		return fmt.Errorf("%w: its class wants %d tie-breakers and it has no more: add another first", model.ErrInvalid, in.Layout.TieBreakers)
	}
	return nil
}

// ChangeBacking begins to put a copy on another volume group of its node. What it needs
// there is reserved by the caller, in the same transaction.
func ChangeBacking(in Input, id int, to model.ReplicaPlace) (Outcome, error) {
	m, err := in.copyThere(id)
	switch {
	case err != nil:
		return Outcome{}, err
	case m.InUse && !m.diskLost():
		return Outcome{}, inUse(m)
	case in.old84():
		return Outcome{}, fmt.Errorf("%w: UnsupportedByDRBD84: move the copy to another node, and back", model.ErrInvalid)
	case to.VG == "":
		return Outcome{}, fmt.Errorf("%w: replica %s is on node %s: say on which volume group it is to be, as in --to %s/vg1", model.ErrInvalid, m.Name, m.Node, m.Node)
	case to.VG == m.VG:
		return Outcome{}, fmt.Errorf("%w: replica %s is in volume group %s of node %s already: its logical volumes keep their names there", model.ErrInvalid, m.Name, m.VG, m.Node)
	}
	if why := tooFewCopies(in, id); why != "" {
		return Outcome{}, fmt.Errorf("%w: %s", model.ErrBusy, why)
	}
	s := newScript(in)
	s.add(DetachDisk, id)
	s.add(SwapBacking, id)
	s.add(AttachDisk, id)
	s.add(Synchronize, id)
	return changeBackingV1.begun(in, newDraft(in, 0), fmt.Sprintf("put %s on %s", m.Name, to), s), nil
}
