package decide

import "rvol/drbd"

// arbitrated adds what a volume of two copies on DRBD 8.4 needs so that the
// one that went on alone is no longer the only one that may.
func (p *planner) arbitrated(r Resource) {
	if r.Arbitrated() && !p.passive && r.SoleRound > p.in.Facts.Together[r.Name] && Together(p.up) {
		p.add(ConfirmTogether{Resource: r.Name, Round: r.SoleRound})
	}
}

// reconnect tries again what DRBD has given up: copies that went apart refuse
// each other every time, unharmed.
func (p *planner) reconnect(r Resource) {
	frozen := p.in.Observed.DRBD.Is84() && p.up.Role == drbd.Primary && p.up.Suspended.Any()
	if p.passive || !r.Member || !r.Formed || frozen {
		return
	}
	for _, peer := range r.Peers {
		if p.givenUp(peer.ID) {
			p.add(Connect{Target: r.target(false), Peer: peer.ID})
		}
	}
}

// givenUp says that DRBD tries to reach a peer no more: the connection is
// StandAlone. DRBD 8.4 lists none then, or its only one.
func (p *planner) givenUp(id drbd.NodeID) bool {
	for _, peer := range p.up.Peers {
		if peer.NodeID == id || p.in.Observed.DRBD.Is84() {
			return peer.Conn == drbd.StandAlone
		}
	}
	return p.in.Observed.DRBD.Is84()
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
