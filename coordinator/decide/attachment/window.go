package attachment

import (
	"fmt"

	"rvol/coordinator/model"
	"rvol/drbd"
)

// window says what a second user waits for; empty: all copies bear two. It asks for that:
// otherwise the kernels would refuse, or part, when only some know.
func (d *draft) window() string {
	d.second = true
	if !d.status.Datamesh.TwoPrimaries {
		vs := d.change()
		vs.Datamesh.TwoPrimaries = true
		vs.Datamesh.Revision++
		d.because("let %s be used on two nodes", d.Volume.Name)
	}
	for _, r := range d.Replicas {
		if why := d.unready(r); why != "" {
			return why
		}
	}
	return ""
}

// unready says that a member does not bear two Primaries yet. One that nobody hears of and
// nobody is connected to need not: it is told before it connects again.
func (d *draft) unready(r Replica) string {
	if _, member := d.status.Datamesh.Member(r.ID); !member || r.Type == model.TieBreaker || !r.Known && !d.connected(r) {
		return ""
	}
	if r.Known && d.status == d.Status && r.State.AppliedRevision >= d.status.Datamesh.Revision {
		return ""
	}
	return fmt.Sprintf("waiting until replica %d on node %s allows two Primaries", r.ID, r.Node)
}

// connected says that some copy is connected to r, for all that is known. DRBD 8.4 does not
// tell the peers apart, and has one.
func (d *draft) connected(r Replica) bool {
	for _, other := range d.Replicas {
		for _, p := range other.Resource.Peers {
			if other.Known && other.ID != r.ID && (p.NodeID == r.ID || p.NodeID < 0) && p.Connection == drbd.Connected {
				return true
			}
		}
	}
	return false
}

// closeWindow ends the time in which there may be two users.
func (d *draft) closeWindow() {
	if !d.status.Datamesh.TwoPrimaries || d.users > 1 || d.second {
		return
	}
	vs := d.change()
	vs.Datamesh.TwoPrimaries = false
	vs.Datamesh.Revision++
	d.because("%s is used on one node at most again", d.Volume.Name)
}
