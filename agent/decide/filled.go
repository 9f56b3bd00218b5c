package decide

import (
	"time"

	"rvol/drbd"
)

// TellAfter is how long a copy that was filled has rested before the peer is told of it anew: its acknowledgements are there by then.
const TellAfter = 3 * time.Second

// RestsSince says since when a resource of DRBD 8.4 is UpToDate and nothing is copied to it or from it, as far as this end knows;
// zero: it is not so.
func RestsSince(before time.Time, o Observed, resource string, now time.Time) time.Time {
	up, isUp := o.Resource(resource)
	switch {
	case !isUp || !o.DRBD.Is84() || !Together(up):
		return time.Time{}
	case before.IsZero():
		return now
	}
	return before
}

// tellPeer ends what DRBD 8.4 does not: the source of a resync believes that it is over when it has all acknowledgements and is told
// so afterwards, and the target's only word may come before the last of them. Then the source waits for ever, and takes the copy
// for Inconsistent: as Primary it would not even ask whether it may go on when it loses it. So whoever was filled says it once more.
func (p *planner) tellPeer(r Resource) {
	if !p.in.Observed.DRBD.Is84() {
		return
	}
	for _, d := range r.Devices {
		if d.Backing == nil || !p.attached(d) {
			continue
		}
		switch fact := p.in.Facts.Backings[d.Backing.Reservation]; {
		case !fact.Untold && p.filled(d):
			p.add(RememberFilled{Reservation: d.Backing.Reservation, Resource: r.Name, Number: d.Number})
		case fact.Telling || fact.Untold && p.in.Facts.Rests: // who died while telling has left the next resync paused
			p.add(TellPeer{Reservation: d.Backing.Reservation, Resource: r.Name, Number: d.Number, Minor: d.Minor})
		}
	}
}

// filled says that a device is being filled, or was since the peer was told of it.
func (p *planner) filled(d Device) bool {
	for _, peer := range p.up.Peers {
		pd, _ := peer.Device(d.Number)
		ends := p.in.Observed.Past[drbd.Pair{Peer: peer.NodeID, Volume: d.Number}].Filled
		if pd.Repl == drbd.SyncTarget || pd.Repl == drbd.PausedSyncT || ends > p.in.Facts.Told[d.Number] {
			return true
		}
	}
	return false
}
