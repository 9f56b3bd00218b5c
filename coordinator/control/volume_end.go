package control

import (
	"fmt"

	"rvol/coordinator/decide/arbiter"
	"rvol/coordinator/decide/formation"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/drbd"
)

// end takes a deleted volume away: attachments first, then the replicas are marked and
// their reservations released; when the last is proven gone, the records go.
func (c Volume) end(w World, vol *model.Volume, vs *model.VolumeStatus) Outcome {
	for a := range state.Under[*model.Attachment](w.State, vol.Name+"/") {
		return Outcome{Reason: "in use on node " + a.Node}
	}
	b := state.NewTxn(Actor(c), "delete "+vol.Name+": release its replicas")
	left := 0
	for r := range state.Under[*model.Replica](w.State, vol.Name+"/") {
		left++
		if r.Deleting() {
			continue
		}
		f := formation.Replica{Replica: r}
		for res := range w.State.ReservationsOf(model.OwnerReplica, r.Name) {
			f.Reservations = append(f.Reservations, res)
		}
		put, del := formation.Remove(f, w.Now)
		for _, o := range put {
			b.Put(o)
		}
		for _, o := range del {
			b.Delete(o)
		}
	}
	if left > 0 {
		return Outcome{Txn: b, Reason: fmt.Sprintf("%d replicas are still to be removed", left)}
	}
	b = state.NewTxn(Actor(c), "delete "+vol.Name+": nothing of it is left").Delete(vol)
	if vs.Revision != 0 {
		b.Delete(vs)
	}
	if s, ok := state.Get[*model.Secret](w.State, model.VolumeSecret(vol.Name)); ok {
		b.Delete(s)
	}
	for op := range state.Under[*model.Operation](w.State, vol.Name+"-") {
		if op.Volume == vol.Name {
			b.Delete(op)
		}
	}
	return Outcome{Txn: b}
}

// soleOf watches over the two copies of a volume on DRBD 8.4, whose kernel has no
// quorum: when a Primary is seen to serve without the other copy, that copy may no longer
// take over, which is committed as sole. It is cleared only when both sides have looked
// after the newest grant and found each other Connected, and both UpToDate. It changes
// next; why is empty when nothing is to change.
func soleOf(w World, vol *model.Volume, vs, next *model.VolumeStatus) (why string) {
	if !arbiter.Applies(vs) {
		return ""
	}
	together := 0
	for _, m := range vs.Datamesh.Members {
		res, ok := reported(w, m.Node, vol.Name)
		switch {
		case !ok:
		case withPeer(res):
			if r, here := w.State.ReplicaOn(m.Node, vol.Name); here && w.Inventory.Node(m.Node).Replicas[r.UID].TogetherRound >= vs.SoleRound {
				together++
			}
		case vs.Sole == nil && serving(res):
			next.GoesAlone(m.ID)
			return fmt.Sprintf("replica %d on %s goes on alone", m.ID, m.Node)
		}
	}
	if vs.Sole != nil && together == 2 {
		next.Sole = nil
		return "both copies are Connected and UpToDate again"
	}
	return ""
}

// recovered says that the copy which somebody took as good is UpToDate and connected with all
// other copies, of which those that are gone were given up.
func recovered(w World, vol *model.Volume, vs *model.VolumeStatus) bool {
	if vs.Recovered == nil {
		return false
	}
	m, ok := vs.Datamesh.Member(*vs.Recovered)
	if !ok {
		return true // it went
	}
	res, ok := reported(w, m.Node, vol.Name)
	apart := 0
	for _, o := range vs.Datamesh.Members {
		if o.ID != m.ID && o.Type == model.Diskful {
			apart++
		}
	}
	for _, p := range res.Peers {
		if p.Connection == drbd.Connected {
			apart--
		}
	}
	return ok && res.Disk() == drbd.UpToDate && apart <= 0
}

// serving says that a Primary acknowledges writes.
func serving(r inventory.Resource) bool {
	return r.Role == drbd.Primary && r.Disk() == drbd.UpToDate && (r.Suspended == "" || r.Suspended == "no")
}

// reported is the volume's resource as its node's kernel has it, where that can be relied on.
func reported(w World, node, volume string) (inventory.Resource, bool) {
	seen := w.Inventory.Node(node)
	if !seen.Known() || seen.DRBDError != "" {
		return inventory.Resource{}, false
	}
	return seen.Resource(model.ResourceName(volume))
}

// withPeer says that a resource is connected, and both its own disks and its peer's are UpToDate.
func withPeer(r inventory.Resource) bool {
	if len(r.Peers) != 1 || r.Peers[0].Connection != drbd.Connected || r.Disk() != drbd.UpToDate {
		return false
	}
	for _, d := range r.Peers[0].Devices {
		if d.Disk != drbd.UpToDate {
			return false
		}
	}
	return true
}
