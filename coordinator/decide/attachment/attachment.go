package attachment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// Input is everything a decision may look at. Records are shared: copies are changed only.
type Input struct {
	Volume      *model.Volume
	Status      *model.VolumeStatus
	Uses        []Use
	Replicas    []Replica
	Reconciling bool // a restored cluster does not know yet what it has forgotten
}

// Use is one attachment with what its node says of the volume.
type Use struct {
	*model.Attachment
	Said
	Fenced bool          // the node is fenced, or gone
	Kept   time.Duration // for how long it has been said that its detach was refused
}

// Replica is one replica with what its node says of it.
type Replica struct {
	*model.Replica
	Said
}

// Said is what a node's agent reports of a volume.
type Said struct {
	Known    bool   // its report of DRBD can be relied on
	Accepted uint64 // log index of the newest order that it accepted
	State    inventory.ReplicaState
	Resource inventory.Resource // of the kernel
}

// Primary says that the node is known to be Primary.
func (s Said) Primary() bool { return s.Resource.Role == drbd.Primary }

// Outcome is what is to be written or, when nothing is, which change of the volume is to
// begin.
type Outcome struct {
	Put    []model.Object
	Delete []model.Object
	Cause  string        // for the log
	Again  time.Duration // look again after this long, should nothing happen before

	AddAccess    string // the node that needs an Access replica; empty: none
	RemoveAccess *int   // the Access replica that nobody needs; nil: none
}

// Changed says whether there is something to write.
func (o Outcome) Changed() bool { return len(o.Put)+len(o.Delete) > 0 }

// The reasons of an attachment that waits. They are those of its condition Attached.
const (
	Pending     = "Pending"           // another has the slot, or the copies are not ready for it
	NoReplica   = "WaitingForReplica" // there is none on the node yet, or it cannot serve
	NotEligible = "NodeNotEligible"
	NotUsable   = "WaitingForReplicatedVolume" // the volume is not formed, stopped or being deleted
	InUse       = "InUse"                      // a detach was given back
)

// Next ends what is to end, and then grants: to who has waited longest first.
func Next(in Input) Outcome {
	d := &draft{Input: in, status: in.Status}
	var waiting []Use
	for _, u := range in.Uses {
		switch {
		case u.Deleting():
			if !d.ended(u) {
				d.users++ // its node may still be Primary
			}
		case u.Granted:
			d.users++
			d.forget(u)
		default:
			waiting = append(waiting, u)
		}
	}
	slices.SortFunc(waiting, func(a, b Use) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Node, b.Node))
	})
	for _, u := range waiting {
		d.consider(u)
	}
	d.closeWindow()
	return d.out()
}

// draft is what is to be written, as far as it is known.
type draft struct {
	Input
	status *model.VolumeStatus // a copy once it is changed
	users  int                 // nodes that are Primary, are to be, or may still be
	second bool                // somebody waits to be the second user
	put    []model.Object
	gone   []model.Object
	causes []string
	again  time.Duration

	addAccess string
}

func (d *draft) because(format string, args ...any) {
	d.causes = append(d.causes, fmt.Sprintf(format, args...))
}

// change gives the status to be changed.
func (d *draft) change() *model.VolumeStatus {
	if d.status == d.Status {
		d.status = model.Clone(d.Status)
	}
	return d.status
}

func (d *draft) out() Outcome {
	o := Outcome{Put: d.put, Delete: d.gone, Cause: strings.Join(d.causes, "; "), Again: d.again}
	if d.status != d.Status {
		o.Put = append(o.Put, d.status)
	}
	if !o.Changed() {
		o.AddAccess, o.RemoveAccess = d.addAccess, d.unused()
	}
	if o.Cause == "" {
		o.Cause = "attachments of " + d.Volume.Name + ": what they wait for"
	}
	return o
}

// consider grants an attachment, or says what it waits for.
func (d *draft) consider(u Use) {
	reason, why := d.obstacle(u)
	alone := false
	if why == "" {
		alone, why = d.alone(u)
	}
	if why == "" && d.users > 0 {
		why = d.window()
	}
	if why != "" {
		d.wait(u, cmp.Or(reason, Pending), why)
		return
	}
	g := model.Clone(u.Attachment)
	g.Granted, g.Reason, g.Message = true, "", ""
	d.put = append(d.put, g)
	d.users++
	d.because("attach %s on node %s", u.Volume, u.Node)
	if alone {
		r, _ := d.replicaOn(u.Node)
		d.change().GoesAlone(r.ID)
	}
}

func (d *draft) wait(u Use, reason, why string) {
	if u.Reason == reason && u.Message == why {
		return
	}
	n := model.Clone(u.Attachment)
	n.Reason, n.Message = reason, why
	d.put = append(d.put, n)
}

// ended removes an attachment whose node is proven Secondary or powerless, and gives it back when its
// device is held open: a detach in use is refused, not forced. It reports whether the node
// no longer counts as a user.
func (d *draft) ended(u Use) bool {
	if u.Granted && !d.outvoted(u) {
		if !u.Known || u.Accepted < u.Revision {
			return false
		}
		if u.State.ErrorClass == heldOpen {
			back := model.Clone(u.Attachment)
			back.DeletingSince = time.Time{}
			back.Reason, back.Message = InUse, u.State.Error
			d.put = append(d.put, back)
			d.because("keep %s attached on node %s: %s", u.Volume, u.Node, u.State.Error)
			return false
		}
		if u.Primary() {
			return false
		}
	}
	d.gone = append(d.gone, u.Attachment)
	d.because("detach %s from node %s", u.Volume, u.Node)
	return true
}

// remembered is how long an attachment tells of a detach that was refused: whether the
// device is still in use is not known.
const remembered = time.Minute

func (d *draft) forget(u Use) {
	switch {
	case u.Reason != InUse:
	case u.Kept < remembered:
		d.again = remembered - u.Kept
	default:
		d.wait(u, "", "")
	}
}

// heldOpen is how agents call a device that somebody uses.
const heldOpen = "in-use"

func (d *draft) replicaOn(node string) (Replica, bool) {
	i := slices.IndexFunc(d.Replicas, func(r Replica) bool { return r.Node == node && !r.Deleting() })
	if i < 0 {
		return Replica{}, false
	}
	return d.Replicas[i], true
}

// obstacle says why an attachment cannot be granted yet; empty: as far as the volume and
// its node go, it can.
func (d *draft) obstacle(u Use) (reason, why string) {
	switch {
	case d.Volume.Deleting():
		return NotUsable, "the volume is being deleted"
	case !d.status.Formed:
		return NotUsable, "the volume is not formed yet"
	case d.Volume.Stopped:
		return NotUsable, "the volume is stopped: rvol volume start " + d.Volume.Name
	case u.Fenced:
		return NotEligible, "node " + u.Node + " is fenced"
	case d.users >= max(1, d.Volume.MaxAttachments):
		return Pending, "another attachment has the slot"
	}
	if reason, why := d.reach(u); why != "" {
		return reason, why
	}
	if r, _ := d.replicaOn(u.Node); d.status.Sole != nil && *d.status.Sole != r.ID {
		return Pending, fmt.Sprintf("replica %d goes on alone: it has writes that this one lacks", *d.status.Sole)
	}
	return "", ""
}
