package arbiter

import (
	"fmt"

	"rvol/coordinator/model"
)

// Input is all that a decision looks at.
type Input struct {
	Volume      *model.Volume
	Status      *model.VolumeStatus
	Replica     *model.Replica // that asks
	Primary     bool           // it is Primary now
	Fenced      bool           // its node is
	Attachments []*model.Attachment
	Reconciling bool // a restored cluster does not know yet what it has forgotten
}

// Applies says that a volume has nobody but the coordinators to decide between two copies.
func Applies(vs *model.VolumeStatus) bool {
	return vs != nil && vs.Formed && vs.DRBD == "8.4" && len(vs.Datamesh.Members) == 2
}

// Refuse says why the replica may not go on alone; empty: it may.
func Refuse(in Input) string {
	_, member := in.Status.Datamesh.Member(in.Replica.ID)
	switch {
	case !Applies(in.Status) || !member || in.Replica.Type != model.Diskful:
		return "it is not one of two copies of a formed volume on DRBD 8.4"
	case in.Reconciling:
		return "the cluster was restored and is being reconciled: rvol cluster reconcile"
	case in.Status.Sole != nil && *in.Status.Sole != in.Replica.ID:
		return fmt.Sprintf("replica %d goes on alone: it has writes that this one lacks", *in.Status.Sole)
	case in.Status.KeepsTwo():
		return "its class keeps every write on two copies (GMDR 1), and only one is there: bring the other back"
	case in.Fenced:
		return "node " + in.Replica.Node + " is fenced"
	case in.Volume.Deleting() || in.Volume.Stopped:
		return "the volume is not to be used"
	}
	return use(in)
}

// use says who else may be using the volume, or that this replica is not to.
func use(in Input) string {
	mine, other := false, ""
	for _, a := range in.Attachments {
		switch {
		case !a.Granted:
		case a.Node == in.Replica.Node:
			mine = true
		default:
			other = a.Node
		}
	}
	switch {
	case !mine:
		return "node " + in.Replica.Node + " has no granted attachment"
	case other != "" && !in.Primary:
		return fmt.Sprintf("node %s may still use it: if that node is off, `rvol node fence %s`", other, other)
	}
	return ""
}
