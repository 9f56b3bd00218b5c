package decide

import (
	"maps"
	"slices"
	"time"

	"rvol/drbd"
)

// StuckFor is how long a copy without good data may stay connected with one that has them,
// and get none, before the two meet anew.
const StuckFor = 30 * time.Second

// StuckSince says which peers of a resource could give the copy here good data now and do
// not, and keeps since when. DRBD 9 compares two copies when they meet: one that was left
// behind then, because a third was to be copied to first or from, is not looked at again.
func StuckSince(before map[drbd.NodeID]time.Time, d Desired, o Observed, resource string, now time.Time) map[drbd.NodeID]time.Time {
	r, ordered := d.Resource(resource)
	up, isUp := o.Resource(resource)
	if !ordered || !isUp || !r.Member || !r.Formed || o.DRBD.Is84() {
		return nil
	}
	since := maps.Clone(before)
	maps.DeleteFunc(since, func(id drbd.NodeID, _ time.Time) bool {
		return !stuck(up, id) || !slices.ContainsFunc(r.Peers, func(p Peer) bool { return p.ID == id })
	})
	for _, p := range r.Peers {
		if _, known := since[p.ID]; known || !stuck(up, p.ID) {
			continue
		}
		if since == nil {
			since = map[drbd.NodeID]time.Time{}
		}
		since[p.ID] = now
	}
	return since
}

// stuck says that a peer has good data and the copy here has not, and that nothing is
// being done about that.
func stuck(up drbd.Resource, id drbd.NodeID) bool {
	peer, ok := up.Peer(id)
	if !ok || peer.Conn != drbd.Connected || up.Role != drbd.Secondary {
		return false
	}
	for _, other := range up.Peers {
		if slices.ContainsFunc(other.Devices, func(d drbd.PeerDevice) bool { return d.Repl != drbd.Off && d.Repl != drbd.Established }) {
			return false
		}
	}
	return slices.ContainsFunc(peer.Devices, func(there drbd.PeerDevice) bool {
		here, ok := up.Device(there.Volume)
		old := here.Disk == drbd.Outdated || here.Disk == drbd.Consistent || here.Disk == drbd.Inconsistent
		return ok && old && there.Disk == drbd.UpToDate && there.Repl == drbd.Established
	})
}

// meetAnew lets a copy that is stuck meet one that has good data anew: the Primary if that
// is one of them, for what a neighbour of a Primary gives is not final.
func (p *planner) meetAnew(r Resource) {
	var best *drbd.Peer
	for i, peer := range p.up.Peers {
		if !slices.Contains(p.in.Facts.Stuck, peer.NodeID) || !stuck(p.up, peer.NodeID) {
			continue
		}
		if best == nil || best.Role != drbd.Primary && peer.Role == drbd.Primary {
			best = &p.up.Peers[i]
		}
	}
	if best != nil && !p.passive {
		p.add(Reconnect{Target: r.target(false), Peer: best.NodeID})
	}
}
