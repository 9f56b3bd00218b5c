package control

import (
	"fmt"
	"strings"
	"time"

	"rvol/coordinator/decide/arbiter"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/drbd"
)

// Attachment grants and ends the use of volumes on nodes. What it grants becomes Primary.
type Attachment struct{}

// Name is the controller's name.
func (Attachment) Name() string { return "attachment" }

// Affected names the volume that a changed record belongs to.
func (Attachment) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindVolume, model.KindVolumeStatus:
		return []string{changed.Name}
	case model.KindAttachment, model.KindReplica:
		volume, _, _ := strings.Cut(changed.Name, "/")
		return []string{volume}
	case model.KindNode, model.KindNodeStatus:
		return volumesOn(v, changed.Name)
	default:
	}
	return nil
}

// AffectedBy names the volumes with a replica on the node.
func (Attachment) AffectedBy(node string, v state.View) []string { return volumesOn(v, node) }

// All lists all volumes.
func (Attachment) All(v state.View) []string { return names[*model.Volume](v) }

// Decide ends first, then grants: one node at a time unless the volume allows two.
func (c Attachment) Decide(w World, key string) (Outcome, error) {
	vol, ok := state.Get[*model.Volume](w.State, key)
	vs, has := state.Get[*model.VolumeStatus](w.State, key)
	if !ok || !has {
		return Outcome{}, nil
	}
	b := state.NewTxn(Actor(c), "attachments of "+key)
	granted := 0
	var wanting []*model.Attachment
	for a := range state.Under[*model.Attachment](w.State, key+"/") {
		switch {
		case a.Deleting():
			if !c.ended(w, a, b) {
				granted++ // its node may still be Primary
			}
		case a.Granted:
			granted++
		default:
			wanting = append(wanting, a)
		}
	}
	for _, a := range wanting {
		why := c.obstacle(w, vol, vs, a, granted)
		alone := false
		if why == "" {
			alone, why = c.alone(w, vol, vs, a)
		}
		if why == "" {
			granted++
			vs = c.grant(w, vs, a, alone, b)
		} else if a.Message != why {
			n := model.Clone(a)
			n.Reason, n.Message = "Waiting", why
			b.Put(n)
		}
	}
	return Outcome{Txn: b}, nil
}

// grant lets a node use the volume, and notes when that is without the other copy. It
// returns the volume's status as it is then.
func (Attachment) grant(w World, vs *model.VolumeStatus, a *model.Attachment, alone bool, b *state.Build) *model.VolumeStatus {
	g := model.Clone(a)
	g.Granted, g.Reason, g.Message = true, "", ""
	b.Put(g).Expect(vs.Key(), vs.Revision)
	b.Because(fmt.Sprintf("attach %s on node %s", a.Volume, a.Node))
	if r, ok := w.State.ReplicaOn(a.Node, a.Volume); ok && alone {
		vs = model.Clone(vs)
		vs.GoesAlone(r.ID)
		b.Put(vs)
	}
	return vs
}

// ended removes an attachment whose node is proven Secondary, and gives it back when its
// device is held open: a detach in use is refused, not forced. It reports whether the
// node no longer counts as a user.
func (c Attachment) ended(w World, a *model.Attachment, b *state.Build) bool {
	if !a.Granted {
		b.Delete(a).Because(fmt.Sprintf("detach %s from node %s", a.Volume, a.Node))
		return true
	}
	seen := w.Inventory.Node(a.Node)
	if !seen.Known() || seen.DRBDError != "" || seen.Accepted.Index < a.Revision {
		return false
	}
	r, ok := w.State.ReplicaOn(a.Node, a.Volume)
	if ok {
		if st := seen.Replicas[r.UID]; st.ErrorClass == "in-use" {
			back := model.Clone(a)
			back.DeletingSince = time.Time{}
			back.Reason, back.Message = "InUse", st.Error
			b.Put(back).Because(fmt.Sprintf("keep %s attached on node %s: %s", a.Volume, a.Node, st.Error))
			return false
		}
	}
	if res, up := seen.Resource(model.ResourceName(a.Volume)); up && res.Role == drbd.Primary {
		return false
	}
	b.Delete(a).Because(fmt.Sprintf("detach %s from node %s", a.Volume, a.Node))
	return true
}

// obstacle says why an attachment cannot be granted yet; empty: it can.
func (Attachment) obstacle(w World, vol *model.Volume, vs *model.VolumeStatus, a *model.Attachment, granted int) string {
	node, ok := state.Get[*model.Node](w.State, a.Node)
	r, here := w.State.ReplicaOn(a.Node, vol.Name)
	switch {
	case vol.Deleting():
		return "the volume is being deleted"
	case !vs.Formed:
		return "the volume is not formed yet"
	case vol.Stopped:
		return "the volume is stopped: rvol volume start " + vol.Name
	case !ok || node.Fenced != nil:
		return "node " + a.Node + " is fenced"
	case !here || r.Deleting() || r.Type == model.TieBreaker:
		return "node " + a.Node + " has no replica that can serve"
	case vs.Sole != nil && *vs.Sole != r.ID:
		return fmt.Sprintf("replica %d goes on alone: it has writes that this one lacks", *vs.Sole)
	case granted >= max(1, vol.MaxAttachments):
		return "another attachment has the slot"
	}
	return ""
}

// alone says that a volume on DRBD 8.4 would be used without its other copy, which then
// may not take over; why says that this must not be.
func (Attachment) alone(w World, vol *model.Volume, vs *model.VolumeStatus, a *model.Attachment) (alone bool, why string) {
	if !arbiter.Applies(vs) {
		return false, ""
	}
	res, known := reported(w, a.Node, vol.Name)
	switch {
	case !known:
		return false, "no report of its copy from node " + a.Node
	case len(res.Peers) == 1 && res.Peers[0].Connection == drbd.Connected:
		return false, "" // the kernels see each other, and to it
	case res.Disk() != drbd.UpToDate && res.Disk() != drbd.Consistent:
		return false, fmt.Sprintf("the copy on node %s is %s, and the other one is not connected", a.Node, res.Disk())
	}
	r, _ := w.State.ReplicaOn(a.Node, vol.Name)
	granted := model.Clone(a)
	granted.Granted = true
	in := arbiter.Input{Volume: vol, Status: vs, Replica: r, Attachments: []*model.Attachment{granted}}
	for other := range state.Under[*model.Attachment](w.State, vol.Name+"/") {
		if other.Name != a.Name {
			in.Attachments = append(in.Attachments, other)
		}
	}
	if cluster, ok := state.Get[*model.Cluster](w.State, model.ClusterName); ok {
		in.Reconciling = cluster.Reconciling
	}
	return vs.Sole == nil, arbiter.Refuse(in)
}
