package decide

import "rvol/drbd"

// arbitrated adds what a volume of two copies on DRBD 8.4 needs so that one
// can go on alone, and be joined by the other again.
func (p *planner) arbitrated(r Resource) {
	if !r.Arbitrated() || p.passive {
		return
	}
	switch {
	case r.Formed && givenUp(p.up) && (p.up.Role == drbd.Secondary || !p.up.Suspended.Any()):
		p.add(Connect{r.target(false)})
	case r.SoleRound > p.in.Facts.Together[r.Name] && Together(p.up):
		p.add(ConfirmTogether{Resource: r.Name, Round: r.SoleRound})
	}
}

// givenUp says that DRBD 8.4 tries to connect no more: it lists no peer then,
// or one that is StandAlone.
func givenUp(r drbd.Resource) bool {
	return len(r.Peers) == 0 || r.Peers[0].Conn == drbd.StandAlone
}

// connected says that DRBD 8.4's peer is there.
func (p *planner) connected() bool { return Connected(p.up) }

// Connected says that the one peer of a resource of DRBD 8.4 is there.
func Connected(r drbd.Resource) bool {
	return len(r.Peers) == 1 && r.Peers[0].Conn == drbd.Connected
}

// Together says that both copies of a resource are UpToDate and connected.
func Together(r drbd.Resource) bool {
	if !Connected(r) || len(r.Devices) == 0 || len(r.Peers[0].Devices) != len(r.Devices) {
		return false
	}
	for _, d := range r.Devices {
		if d.Disk != drbd.UpToDate {
			return false
		}
	}
	for _, d := range r.Peers[0].Devices {
		if d.Disk != drbd.UpToDate || d.Repl != drbd.Established {
			return false
		}
	}
	return true
}

// Frozen says that a Primary of DRBD 8.4 has lost its peer and waits to be
// told that it may go on. That version does not always tell fencing from the
// loss of data, which is here.
func Frozen(r drbd.Resource) bool {
	for _, d := range r.Devices {
		if d.Disk != drbd.UpToDate {
			return false
		}
	}
	return r.Role == drbd.Primary && (r.Suspended.Fencing || r.Suspended.NoData) && !Connected(r)
}

// frozen refuses to demote what has writes under way: DRBD would wait for
// them, and they wait for the peer.
func (p *planner) frozen(what string) *Refusal {
	if !p.in.Observed.DRBD.Is84() || !Frozen(p.up) {
		return nil
	}
	for _, d := range p.up.Devices {
		if d.Pending > 0 {
			return refuse(InUse, "%s: writes to /dev/drbd%d wait for the other copy, which goes on without this one: they were not acknowledged and will not be; "+
				"end who writes, which takes a reboot of this node", what, d.Minor)
		}
	}
	return nil
}
