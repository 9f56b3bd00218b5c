package admin

import (
	"cmp"
	"fmt"

	"rvol/coordinator/decide/attachment"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/drbd"
	adminv1 "rvol/proto/admin/v1"
)

func attachmentOf(v state.View, seen inventory.View, a *model.Attachment) *adminv1.Attachment {
	attached := attachedOf(v, seen, a)
	ready := readyOf(a, attached)
	out := &adminv1.Attachment{
		Meta: meta(&a.Meta), Volume: a.Volume, Node: a.Node, Granted: a.Granted, Device: devicePath(a.Volume), Message: a.Message,
		Conditions: conditions([]model.Condition{attached, ready}),
	}
	if a.Reason == attachment.InUse {
		out.Message = "not detached: " + a.Message
	}
	if out.Message == "" && ready.Status != model.True {
		out.Message = ready.Message
	}
	return out
}

// attachedOf says whether the node is Primary with quorum, so that reads and writes work.
func attachedOf(v state.View, seen inventory.View, a *model.Attachment) model.Condition {
	c := model.Condition{Type: "Attached", Status: model.False}
	vol, ok := state.Get[*model.Volume](v, a.Volume)
	agent := seen.Node(a.Node)
	switch {
	case !ok || vol.Deleting():
		c.Reason, c.Message = attachment.NotUsable, "the volume is being deleted"
	case !a.Granted:
		c.Reason, c.Message = cmp.Or(a.Reason, attachment.Pending), a.Message
	case !agent.Known() || agent.DRBDError != "":
		c.Status, c.Reason, c.Message = model.Unknown, "NoReport", "no report from node "+a.Node
	default:
		c = grantedOf(v, agent, a)
	}
	switch {
	case !a.Deleting():
	case c.Status == model.Unknown:
		c.Message += "; if it is off: `rvol node fence " + a.Node + "`"
	default:
		if c.Reason != "IOSuspended" {
			c.Message = "node " + a.Node + " is to become Secondary"
		}
		c.Reason = "Detaching"
	}
	return c
}

// grantedOf is what the node has made of a granted attachment.
func grantedOf(v state.View, agent *inventory.Node, a *model.Attachment) model.Condition {
	c := model.Condition{Type: "Attached", Status: model.False, Reason: "Attaching", Message: "node " + a.Node + " is to become Primary"}
	res, up := agent.Resource(model.ResourceName(a.Volume))
	vs, _ := state.Get[*model.VolumeStatus](v, a.Volume)
	switch {
	case !up || res.Role != drbd.Primary:
		if r, ok := v.ReplicaOn(a.Node, a.Volume); ok {
			c.Message = promoting(vs, r, why(agent.Replicas[r.UID], c.Message))
		}
	case res.Suspended == "fencing":
		c.Reason, c.Message = "IOSuspended", "I/O is frozen: "+frozenWhy
	case res.Suspended != "" && res.Suspended != "no":
		c.Reason, c.Message = "IOSuspended", "I/O is suspended: "+res.Suspended
	case !quorate(vs, res):
		c.Reason, c.Message = "QuorumLost", "it has lost quorum"
	default:
		c.Status, c.Reason, c.Message = model.True, "Attached", ""
	}
	return c
}

// promoting says what a replica waits for before it is Primary.
func promoting(vs *model.VolumeStatus, r *model.Replica, otherwise string) string {
	if vs != nil && vs.Sole != nil && *vs.Sole != r.ID {
		return fmt.Sprintf("replica %d goes on alone: it has writes that this one lacks", *vs.Sole)
	}
	return otherwise
}

// readyOf says whether an attachment can be used, and is to stay.
func readyOf(a *model.Attachment, attached model.Condition) model.Condition {
	c := model.Condition{Type: "Ready", Status: attached.Status, Message: attached.Message}
	switch {
	case attached.Status == model.Unknown:
		c.Reason = "ReplicaNotReady"
		return c
	case attached.Status == model.False:
		c.Reason = "NotAttached"
		return c
	case a.Deleting():
		c.Status, c.Reason = model.False, "Terminating"
		return c
	}
	c.Reason = "Ready"
	return c
}

// frozenWhy explains a Primary on DRBD 8.4 that waits.
const frozenWhy = "it lost the other copy, and was not let go on without it: bring the other node back, or see `rvol node show` of this one"
