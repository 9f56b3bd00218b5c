package control

import (
	"strings"
	"time"

	"rvol/coordinator/decide/attachment"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
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
	got := attachment.Next(attachmentInput(w, vol, vs))
	if start := changeOf(got); start != nil {
		b := state.NewTxn(Actor(c), "reach "+key)
		if err := Change(w, b, vol, start); err != nil {
			return Outcome{Again: retryChange, Reason: err.Error()}, nil //nolint:nilerr // it waits, and says for what
		}
		return Outcome{Txn: b}, nil
	}
	if !got.Changed() {
		return Outcome{Again: got.Again}, nil
	}
	b := state.NewTxn(Actor(c), got.Cause)
	b.Expect(vol.Key(), vol.Revision) // a deletion or a stop that came in between wins
	b.Expect(vs.Key(), vs.Revision)
	for _, o := range got.Put {
		b.Put(o)
	}
	for _, o := range got.Delete {
		b.Delete(o)
	}
	return Outcome{Txn: b, Again: got.Again}, nil
}

// retryChange is when a change that may not begin now is tried again, should nothing happen before.
const retryChange = 10 * time.Second

// changeOf is the change of the volume that the outcome asks for; nil: none.
func changeOf(o attachment.Outcome) func(transition.Input) (transition.Outcome, error) {
	switch {
	case o.AddAccess != "":
		return func(in transition.Input) (transition.Outcome, error) { return accessFor(in, o.AddAccess) }
	case o.RemoveAccess != nil:
		return func(in transition.Input) (transition.Outcome, error) {
			return transition.RemoveAccess(in, *o.RemoveAccess)
		}
	}
	return nil
}

// accessFor begins to make an Access replica that goes with the last attachment on its node.
func accessFor(in transition.Input, node string) (transition.Outcome, error) {
	out, err := transition.AddAccess(in, node)
	for _, o := range out.Put {
		if r, ok := o.(*model.Replica); ok && r.Node == node {
			r.ForUse = true // it is new: nobody else has it
		}
	}
	return out, err
}

// attachmentInput gathers what the decision looks at.
func attachmentInput(w World, vol *model.Volume, vs *model.VolumeStatus) attachment.Input {
	in := attachment.Input{Volume: vol, Status: vs}
	if cluster, ok := state.Get[*model.Cluster](w.State, model.ClusterName); ok {
		in.Reconciling = cluster.Reconciling
	}
	for r := range state.Under[*model.Replica](w.State, vol.Name+"/") {
		in.Replicas = append(in.Replicas, attachment.Replica{Replica: r, Said: said(w.Inventory.Node(r.Node), r)})
	}
	for a := range state.Under[*model.Attachment](w.State, vol.Name+"/") {
		node, ok := state.Get[*model.Node](w.State, a.Node)
		r, here := w.State.ReplicaOn(a.Node, vol.Name)
		if !here {
			r = &model.Replica{Volume: vol.Name}
		}
		in.Uses = append(in.Uses, attachment.Use{
			Attachment: a, Said: said(w.Inventory.Node(a.Node), r), Fenced: !ok || node.Fenced != nil,
			Kept: w.Held("kept "+a.Name, a.Reason == attachment.InUse),
		})
	}
	return in
}

// said is what a node says of a replica.
func said(n *inventory.Node, r *model.Replica) attachment.Said {
	if !n.Known() || n.DRBDError != "" {
		return attachment.Said{}
	}
	res, _ := n.Resource(model.ResourceName(r.Volume))
	return attachment.Said{Known: true, Accepted: n.Accepted.Index, State: n.Replicas[r.UID], Resource: res}
}
