package attachment

import (
	"fmt"
	"slices"

	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
)

// The reasons for which a node can never use a volume as things are.
const (
	NotLocal    = "VolumeAccessLocalityNotSatisfied"
	Unsupported = "UnsupportedByDRBD84"
)

// Unreachable says why a node may not use a volume though there is no obstacle but where its
// copies are: r is the volume's replica on the node; nil: there is none. Empty: it may, with
// an Access replica where there is no other.
func Unreachable(vs *model.VolumeStatus, node string, r *model.Replica) (reason, why string) {
	switch {
	case r != nil && r.Type == model.Diskful:
		return "", ""
	case vs.DRBD == "8.4":
		return Unsupported, "there is no copy of it on node " + node + ", and DRBD 8.4 cannot use one over the network"
	case vs.Configuration != nil && vs.Configuration.VolumeAccess == model.AccessLocal:
		return NotLocal, "there is no copy of it on node " + node + ", and its class wants volumes to be used where a copy is (volume access Local)"
	}
	return "", ""
}

// reach says what an attachment waits for before there is a replica on its node that can
// serve, and asks for one.
func (d *draft) reach(u Use) (reason, why string) {
	r, here := d.replicaOn(u.Node)
	if reason, why := Unreachable(d.status, u.Node, r.Replica); why != "" {
		return reason, why
	}
	if here {
		if transition.Leaving(d.status, r.ID) {
			return NoReplica, fmt.Sprintf("replica %d on node %s is being removed", r.ID, u.Node)
		}
		if _, member := d.status.Datamesh.Member(r.ID); !member {
			return NoReplica, fmt.Sprintf("replica %d on node %s is being made", r.ID, u.Node)
		}
		return "", ""
	}
	switch {
	case d.leaving(u.Node):
		return NoReplica, "the replica that was on node " + u.Node + " is still being removed"
	case d.mayBecomeLocal():
		return NoReplica, "a copy is being placed, if there is room on node " + u.Node
	case d.addAccess == "":
		d.addAccess = u.Node
	}
	return NoReplica, "an Access replica is made on node " + u.Node
}

// leaving says that a replica on the node is being removed.
func (d *draft) leaving(node string) bool {
	return slices.ContainsFunc(d.Replicas, func(r Replica) bool { return r.Node == node && r.Deleting() })
}

// mayBecomeLocal says that a copy has no place yet, and that the class prefers it to be where
// the volume is used.
func (d *draft) mayBecomeLocal() bool {
	cfg := d.status.Configuration
	return cfg != nil && cfg.VolumeAccess == model.AccessPreferablyLocal && slices.ContainsFunc(d.Replicas, func(r Replica) bool {
		return r.Type == model.Diskful && r.Node == "" && !r.Deleting()
	})
}

// unused finds an Access replica that was made for an attachment, serves nobody any more, and
// that no change is about.
func (d *draft) unused() *int {
	for _, r := range d.Replicas {
		used := slices.ContainsFunc(d.Uses, func(u Use) bool { return u.Node == r.Node })
		if r.ForUse && !r.Deleting() && !used && !d.changing(r.ID) {
			return &r.ID
		}
	}
	return nil
}

// changing says that a transition has a step about a replica that is not over.
func (d *draft) changing(id int) bool {
	for _, t := range d.status.Transitions {
		for _, s := range t.Steps {
			if s.Replica != nil && *s.Replica == id && s.Status != model.StepCompleted {
				return true
			}
		}
	}
	return false
}
