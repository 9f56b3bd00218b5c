package state

import (
	"slices"
	"strconv"

	"rvol/coordinator/model"
)

// checkReferences refuses a replica that names a reservation which is not there for it,
// and the removal of a reservation that a replica still names.
func checkReferences(d *draft) *model.Refusal {
	for _, c := range d.changes {
		if r, ok := c.after.(*model.Replica); ok {
			if refusal := d.checkReplica(r); refusal != nil {
				return refusal
			}
		}
		before, ok := c.before.(*model.Reservation)
		if !ok || before.OwnerKind != model.OwnerReplica {
			continue
		}
		o, _ := d.after(model.Key{Kind: model.KindReplica, Name: before.Owner}.String())
		if owner, ok := o.(*model.Replica); ok {
			if refusal := d.checkReplica(owner); refusal != nil {
				return refusal
			}
		}
	}
	return nil
}

func (d *draft) checkReplica(r *model.Replica) *model.Refusal {
	for _, dev := range r.Devices {
		if dev.Reservation == "" {
			continue
		}
		k := model.Key{Kind: model.KindReservation, Name: dev.Reservation}
		o, _ := d.after(k.String())
		res, ok := o.(*model.Reservation)
		switch {
		case !ok:
			return refuse(model.ConstraintReference, r.Key(), "device %d names %s, which does not exist", dev.Number, k)
		case res.OwnerKind != model.OwnerReplica || res.Owner != r.Name:
			return refuse(model.ConstraintReference, r.Key(), "device %d names %s, which belongs to %s %s", dev.Number, k, res.OwnerKind, res.Owner)
		}
	}
	return nil
}

// checkSerial refuses a second transition of a volume that moves data while one is
// under way.
func checkSerial(d *draft) *model.Refusal {
	for _, c := range d.changes {
		after, ok := c.after.(*model.VolumeStatus)
		if !ok {
			continue
		}
		plans := moving(after)
		if len(plans) <= 1 {
			continue
		}
		r := refuse(model.ConstraintSerial, c.object, "%s would move data while %s does: one at a time per volume",
			strconv.Quote(plans[len(plans)-1]), strconv.Quote(plans[0]))
		r.Asked, r.Available = int64(len(plans)), 1
		return r
	}
	return nil
}

// moving lists the plans under way that move data, formation first.
func moving(v *model.VolumeStatus) []string {
	var plans []string
	if v.Formation != nil {
		plans = append(plans, v.Formation.Plan)
	}
	for _, t := range v.Transitions {
		if !t.Compatible {
			plans = append(plans, t.Plan)
		}
	}
	return plans
}

// checkFormed refuses what would form a volume anew that may hold data: to take back that
// it is formed, to begin formation again, to permit a first data generation.
func checkFormed(d *draft) *model.Refusal {
	for _, c := range d.changes {
		switch after := c.after.(type) {
		case *model.Operation:
			if after.Type != model.OperationCreateNewUUID || c.before != nil {
				continue // permitted when it was granted
			}
			o, _ := d.after(model.Key{Kind: model.KindVolumeStatus, Name: after.Volume}.String())
			if vs, ok := o.(*model.VolumeStatus); ok && vs.Formed {
				return refuse(model.ConstraintFormed, c.object, "volume %s is formed: a first data generation would destroy its data", after.Volume)
			}
		case *model.VolumeStatus:
			if before, ok := c.before.(*model.VolumeStatus); ok && before.Formed && (!after.Formed || after.Formation != nil) {
				return refuse(model.ConstraintFormed, c.object, "the volume is formed, and stays so: formation would destroy its data")
			}
		}
	}
	return nil
}

// checkTokens refuses to redeem a token that has lapsed, or for a second key. It is the
// one place where the time of an entry decides anything.
func checkTokens(d *draft) *model.Refusal {
	for _, c := range d.changes {
		after, ok := c.after.(*model.Token)
		if !ok {
			continue
		}
		was, deadline := "", after.ExpiresAt
		if before, ok := c.before.(*model.Token); ok {
			was, deadline = before.RedeemedBy, before.ExpiresAt
		}
		switch {
		case after.RedeemedBy == was:
		case was != "":
			return refuse(model.ConstraintToken, c.object, "was used by another already: make a new one")
		case d.time.After(deadline):
			return refuse(model.ConstraintToken, c.object, "lapsed at %s: make a new one", deadline.UTC().Format("2006-01-02 15:04:05 MST"))
		}
	}
	return nil
}

// checkFormat refuses to lower the format of the state, or to raise it past what a
// member serves.
func checkFormat(d *draft) *model.Refusal {
	for _, c := range d.changes {
		after, ok := c.after.(*model.Cluster)
		if !ok {
			continue
		}
		want := max(after.Format, MinFormat)
		if want < d.format {
			r := refuse(model.ConstraintFormat, c.object, "the state's format is %d and never goes back", d.format)
			r.Asked, r.Available = int64(want), int64(d.format)
			return r
		}
		if want > d.format {
			if r := d.checkServed(want); r != nil {
				return r
			}
		}
	}
	return nil
}

// checkServed refuses a format that a member does not serve.
func (d *draft) checkServed(format int) *model.Refusal {
	members := slices.Collect(scan[*model.Member](d.objects, string(model.KindMember)+"/"))
	for _, c := range d.changes {
		if m, ok := c.after.(*model.Member); ok {
			members = append(members, m)
		}
	}
	for _, m := range members {
		now, there := d.after(m.Key().String())
		if there && now == model.Object(m) && m.Formats[1] < format {
			r := refuse(model.ConstraintFormat, m.Key(), "serves formats %d to %d, not %d: install a newer version there first", m.Formats[0], m.Formats[1], format)
			r.Asked, r.Available = int64(format), int64(m.Formats[1])
			return r
		}
	}
	return nil
}
