package decide

import (
	"maps"
	"slices"
	"time"

	"rvol/drbd"
)

// PartedSince says which peers of a resource are given up by DRBD now, and keeps since when. A
// connection that is only being tried changes nothing: those that went apart meet, and part
// again, each time.
func PartedSince(before map[drbd.NodeID]time.Time, d Desired, o Observed, resource string, now time.Time) map[drbd.NodeID]time.Time {
	r, ordered := d.Resource(resource)
	up, isUp := o.Resource(resource)
	if !ordered || !isUp || !r.Member || !r.Formed {
		return nil
	}
	since := maps.Clone(before)
	p := planner{in: Input{Observed: o}, up: up, isUp: true}
	for _, peer := range r.Peers {
		_, apart := since[peer.ID]
		switch {
		case p.meets(peer.ID):
			delete(since, peer.ID)
		case !apart && p.givenUp(peer.ID):
			if since == nil {
				since = map[drbd.NodeID]time.Time{}
			}
			since[peer.ID] = now
		}
	}
	maps.DeleteFunc(since, func(id drbd.NodeID, _ time.Time) bool {
		return !slices.ContainsFunc(r.Peers, func(peer Peer) bool { return peer.ID == id })
	})
	return since
}

// kernelID is how the kernel calls a peer: DRBD 8.4 has one, and does not know its id.
func (p *planner) kernelID(id drbd.NodeID) drbd.NodeID {
	if p.in.Observed.DRBD.Is84() {
		return 0
	}
	return id
}

// meets says that data goes to or from a peer.
func (p *planner) meets(id drbd.NodeID) bool {
	peer, ok := p.up.Peer(p.kernelID(id))
	return ok && peer.Conn == drbd.Connected && slices.ContainsFunc(peer.Devices, func(d drbd.PeerDevice) bool { return d.Repl != drbd.Off })
}

// apart tells of the peers that are given up.
func (p *planner) apart(r Resource) []Apart {
	var out []Apart
	for _, id := range slices.Sorted(maps.Keys(p.in.Facts.Apart)) {
		a := Apart{Peer: id, Since: p.in.Facts.Apart[id]}
		for _, d := range r.Devices {
			past := p.in.Observed.Past[drbd.Pair{Peer: p.kernelID(id), Volume: d.Number}]
			a.Devices = append(a.Devices, ApartDevice{Number: d.Number, Generations: p.generations(d), OutOfSync: past.OutOfSync})
		}
		out = append(out, a)
	}
	return out
}

// generations are those of a device's data, as far as they were read.
func (p *planner) generations(d Device) drbd.Generations {
	if d.Backing == nil {
		return drbd.Generations{}
	}
	lv, _ := p.tagged(*d.Backing)
	md := p.in.Observed.Metadata[lv.UUID]
	if !md.Attached || md.Err != "" {
		return drbd.Generations{}
	}
	return md.Generations
}

// asksGenerations is a peer through which the generations of a formed resource are read:
// of one that is given up, or that an operation on two copies names.
func (p *planner) asksGenerations(r Resource) (drbd.NodeID, bool) {
	for _, op := range p.in.Desired.Operations {
		if op.ReplicaUID == r.ReplicaUID && op.WithPeer != nil && len(op.WithPeer.Generations) > 0 && p.in.Facts.Operations[op.ID].Result == nil {
			return op.WithPeer.Peer, true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.in.Facts.Apart)) {
		return id, true
	}
	return 0, false
}
