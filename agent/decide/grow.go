package decide

import "rvol/drbd"

// grow is the step that a volume needs to have the size ordered; nil: none. What was
// begun is ended, whatever the order says now: before that nothing may be attached.
func (p *planner) grow(b Backing, lv LV, fact BackingFact) Step {
	if fact.Growing == 0 && (p.passive || lv.Size >= b.Size) {
		return nil
	}
	r, _ := p.in.Desired.Resource(p.key)
	return GrowLV{Cluster: p.in.Desired.Cluster, Backing: b, LV: lv, Peers: p.bitmaps(r)}
}

// bitmaps is how many bitmaps the metadata has. DRBD 8.4 has one.
func (p *planner) bitmaps(r Resource) int {
	if p.in.Observed.DRBD.Is84() {
		return 1
	}
	return r.slots()
}

// resize lets DRBD take a new size where the order says that this node does so, and notes
// on every node when it has.
func (p *planner) resize(r Resource, state *ReplicaState) {
	for _, d := range r.Devices {
		dev, there := p.up.Device(d.Number)
		if !there || d.Backing == nil || !p.attached(d) {
			continue
		}
		fact := p.in.Facts.Backings[d.Backing.Reservation]
		lv, ok := p.tagged(*d.Backing)
		if ok && fact.MetaAt != 0 && dev.Size > drbd.UsableSize(fact.MetaAt, p.bitmaps(r)) {
			p.add(RememberSize{Reservation: d.Backing.Reservation, LV: lv, Minor: d.Minor})
		}
		if !p.toResize(d, dev, lv) {
			continue
		}
		if why := p.behind(r); why != "" {
			state.Step = "waiting to resize " + r.Name + ": " + why
			continue
		}
		p.add(Resize{Resource: r.Name, Number: d.Number, Minor: d.Minor, LV: lv, Alone: len(r.Peers) == 0})
	}
}

// toResize says that the order wants a device larger than it is, or that the peer is still to be told: two of DRBD 8.4 may have met
// with different sizes.
func (p *planner) toResize(d Device, dev drbd.Device, lv LV) bool {
	if p.passive || d.ResizeTo == 0 {
		return false
	}
	return d.ResizeTo > dev.Size || p.in.Observed.DRBD.Is84() && p.in.Facts.Held[lv.Reservation] != lv.Size
}

// holdSizes keeps the devices at their size whose volumes have grown, while the peer of DRBD 8.4 is away: it may come back with its
// metadata at the new end, and each would take another size then, and refuse the other's bitmap.
func (p *planner) holdSizes(r Resource) {
	if !p.isUp || !p.in.Observed.DRBD.Is84() || len(r.Peers) == 0 || p.connected() {
		return
	}
	for _, d := range r.Devices {
		if d.Backing == nil || !p.attached(d) {
			continue
		}
		if lv, ok := p.tagged(*d.Backing); ok && p.lagsBehind(d, lv) && p.in.Facts.Held[lv.Reservation] != lv.Size {
			p.add(HoldSize{Resource: r.Name, Number: d.Number, Minor: d.Minor, LV: lv})
		}
	}
}

// lagsBehind says that a device's volume has grown, and the device has not.
func (p *planner) lagsBehind(d Device, lv LV) bool {
	dev, _ := p.up.Device(d.Number)
	fact := p.in.Facts.Backings[d.Backing.Reservation]
	return fact.Growing == 0 && fact.MetaAt != 0 && lv.Size > fact.MetaAt && dev.Size <= drbd.UsableSize(fact.MetaAt, 1)
}

// behind says which peer with a disk is not Connected and UpToDate, or is being copied to.
func (p *planner) behind(r Resource) string {
	for _, want := range r.Peers {
		if want.Type != Diskful {
			continue
		}
		peer, ok := p.peer(want.ID)
		if !ok || peer.Conn != drbd.Connected {
			return want.Node + " is not connected"
		}
		for _, d := range peer.Devices {
			if d.Disk != drbd.UpToDate || d.Repl != drbd.Established {
				return want.Node + " is " + string(d.Disk) + " and " + string(d.Repl)
			}
		}
	}
	return ""
}

// peer finds the connection to a replica. DRBD 8.4 has one and does not say to whom.
func (p *planner) peer(id drbd.NodeID) (drbd.Peer, bool) {
	for _, peer := range p.up.Peers {
		if peer.NodeID == id || p.in.Observed.DRBD.Is84() {
			return peer, true
		}
	}
	return drbd.Peer{}, false
}
