package decide

import "slices"

// goesOnWithout says that a replica is of use though its disk cannot be had: it
// does not need it now.
func (r Resource) goesOnWithout() bool { return r.Member && r.Formed && !r.attaches() }

// bare is a member that is up without disks that it cannot have now, and why: one that is
// broken, or gone. It goes on as a member, so that another can take its copy's place.
func (p *planner) bare(r Resource) (bare Resource, lost *Refusal) {
	if !p.isUp || !r.Member || !r.Formed || !r.attaches() || p.in.Observed.DRBD.Is84() { // which has no devices without a disk
		return r, nil
	}
	bare = r
	bare.Devices = slices.Clone(r.Devices)
	for i, d := range r.Devices {
		if why := p.lost(r, d); why != nil {
			bare.Devices[i].Backing, lost = nil, why
		}
	}
	return bare, lost
}

// lost says why a device that is up without its disk cannot have it.
func (p *planner) lost(r Resource, d Device) *Refusal {
	if _, there := p.up.Device(d.Number); !there || d.Backing == nil || p.attached(d) {
		return nil
	}
	lv, step, why := p.backing(*d.Backing)
	if why == nil && step == nil {
		_, why = p.disk(r, d, lv)
	}
	return why
}

// text is the file of a resource that could be made before.
func (p *planner) text(r Resource) string {
	text, err := r.File(p.in.Observed.DRBD)
	if err != nil {
		return ""
	}
	return text
}

// partFromLast ends the connection that DRBD 8.4 keeps when its file no longer
// names the peer; the file that does is still there.
func (p *planner) partFromLast(r Resource, t Target) {
	if p.in.Observed.DRBD.Is84() && t.Alone && p.owner.Peers > 0 {
		p.add(Disconnect{r.target(false)})
	}
}

// forgetPeers frees the bitmap slots of replicas that left, where there are any.
func (p *planner) forgetPeers(r Resource, t Target) {
	if len(r.Forget) > 0 && r.attaches() && r.Member && !p.in.Observed.DRBD.Is84() {
		p.add(ForgetPeers{Target: t, Peers: r.Forget})
	}
}

// switchDisks attaches the disks that are to be there, and detaches those that are not.
func (p *planner) switchDisks(r Resource, t Target) {
	for _, d := range r.Devices {
		_, there := p.up.Device(d.Number)
		switch attached := p.attached(d); {
		case there && d.Backing != nil && !attached && r.attaches():
			p.add(Attach{Target: t, Number: d.Number})
		case attached && !r.attaches():
			p.add(Detach{Target: t, Number: d.Number, Minor: d.Minor})
		}
	}
}

// between is the file to adjust to first: where the quorum is lowered, all else
// changes before it does. A vote that is to go would for a moment count for a
// quorum that is made without it, and two parts of the mesh could both have it.
// DRBD 8.4 has no quorum to hold.
func (p *planner) between(r Resource, want string) string {
	o, err := r.options()
	if err != nil || p.in.Observed.DRBD.Is84() || p.owner.Replica != r.ReplicaUID || p.owner.Quorum <= o.Quorum {
		return want
	}
	held, err := r.file(p.in.Observed.DRBD, p.owner.Quorum)
	if err != nil || p.file == held && p.in.Facts.Applied[r.Name] == held {
		return want
	}
	return held
}

// stands says that a device has what it needs now: its disk attached, or, where
// that is to come later, the volume with metadata.
func (p *planner) stands(r Resource, d Device, b BackingState) bool {
	if p.attached(d) {
		return true
	}
	fact := p.in.Facts.Backings[d.Backing.Reservation]
	return !r.attaches() && fact.MetaMade && b.LVUUID != "" && fact.LVUUID == b.LVUUID
}
