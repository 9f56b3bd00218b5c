package decide

import (
	"fmt"
	"slices"

	"rvol/drbd"
)

// onPeer is the guard of the operations on two copies. It answers with the command, with how
// the operation ended, or with what it waits for. Only a verify goes on over a crash: what
// another had begun is for people to look at.
func (p *planner) onPeer(op Operation, r Resource) (step Step, waiting string) {
	started := p.in.Facts.Operations[op.ID].Started
	if failed := peerFits(op, r); failed != "" {
		return notRun(op, failed), ""
	}
	if op.Type == VerifyOperation {
		return p.verify(op, r, started)
	}
	if started {
		return Finish{Result{ID: op.ID, Interrupted: true, Text: "was interrupted: look how the volume is, and say it again if needed"}}, ""
	}
	if failed, why := p.holdsStill(op, r); failed != "" || why != "" {
		return orWait(op, failed, why)
	}
	switch op.Type {
	case ReconnectOperation, DiscardOperation:
		return p.meetAgain(op, r)
	case ForceOperation:
		return p.takeAsGood(op, r)
	case RepairOperation:
		return p.repair(op, r)
	}
	return notRun(op, "this agent does not know operation "+op.Type), ""
}

func notRun(op Operation, why string) Step { return Finish{Result{ID: op.ID, Text: "not run: " + why}} }

// orWait ends an operation, or waits.
func orWait(op Operation, failed, why string) (Step, string) {
	if failed != "" {
		return notRun(op, failed), ""
	}
	return nil, why
}

// peerFits says why the grant can never be used on this replica.
func peerFits(op Operation, r Resource) string {
	peer := slices.IndexFunc(r.Peers, func(p Peer) bool { return p.ID == op.WithPeer.Peer })
	switch {
	case !r.Formed || !r.Member || r.Type != Diskful:
		return "it is not a copy of a formed volume"
	case op.Type == ForceOperation:
		return ""
	case peer < 0 || r.Peers[peer].Type != Diskful:
		return fmt.Sprintf("replica %s is not another copy of it", op.WithPeer.Peer)
	}
	return ""
}

// holdsStill says that the copy is not what people saw when they decided about it.
func (p *planner) holdsStill(op Operation, r Resource) (failed, waiting string) {
	want := op.WithPeer.Generations
	if len(want) == 0 {
		return "", ""
	}
	if len(want) != len(r.Devices) {
		return "the grant names other devices than the replica has", ""
	}
	for i, d := range r.Devices {
		switch got := p.generations(d).Current; {
		case got == 0:
			return "", fmt.Sprintf("the data generation of device %d could not be read", d.Number)
		case got&^1 != want[i]&^1: // bit 0 tells who was Primary
			return fmt.Sprintf("device %d was written since it was looked at: its generation is %s, was %s", d.Number, got, want[i]), ""
		}
	}
	return "", ""
}

// meetAgain guards the end of a split brain.
func (p *planner) meetAgain(op Operation, r Resource) (Step, string) {
	discard := op.Type == DiscardOperation
	switch {
	case p.meets(op.WithPeer.Peer):
		return Finish{Result{ID: op.ID, Succeeded: !discard, Text: "the copies are connected already"}}, ""
	case !discard && !p.givenUp(op.WithPeer.Peer):
		return Finish{Result{ID: op.ID, Succeeded: true, Text: "DRBD tries to connect by itself"}}, ""
	case discard && p.up.Role == drbd.Primary:
		return notRun(op, "it is in use: what is in use is not given up"), ""
	case Frozen(p.up) && p.in.Observed.DRBD.Is84():
		return nil, "its I/O is frozen until a coordinator lets it go on"
	}
	return MeetAgain{Target: r.target(false), Operation: op.ID, Peer: op.WithPeer.Peer, Discard: discard}, ""
}

// takeAsGood guards the one command that makes old data UpToDate.
func (p *planner) takeAsGood(op Operation, r Resource) (Step, string) {
	for _, peer := range p.up.Peers {
		for _, d := range peer.Devices {
			if peer.Conn == drbd.Connected && d.Disk == drbd.UpToDate {
				return notRun(op, fmt.Sprintf("a copy that is UpToDate is connected (replica %s)", peer.NodeID)), ""
			}
		}
	}
	return TakeAsGood{Target: r.target(len(r.Peers) == 0), Operation: op.ID, Stay: p.up.Role == drbd.Primary}, ""
}

// pairs are the devices of a replica as they stand with a peer; ok: it is connected and
// knows them all.
func (p *planner) pairs(r Resource, id drbd.NodeID) (out []drbd.PeerDevice, ok bool) {
	peer, _ := p.up.Peer(p.kernelID(id))
	for _, d := range r.Devices {
		pd, known := peer.Device(d.Number)
		if !known {
			return nil, false
		}
		out = append(out, pd)
	}
	return out, peer.Conn == drbd.Connected
}

// equals says why two copies are not UpToDate and at rest with each other; "": they are.
func (p *planner) equals(r Resource, id drbd.NodeID) string {
	pairs, ok := p.pairs(r, id)
	if !ok {
		return fmt.Sprintf("replica %s is not connected", id)
	}
	for i, d := range r.Devices {
		dev, _ := p.up.Device(d.Number)
		if dev.Disk != drbd.UpToDate || pairs[i].Disk != drbd.UpToDate || pairs[i].Repl != drbd.Established {
			return fmt.Sprintf("device %d is %s, of replica %s %s, %s", d.Number, dev.Disk, id, pairs[i].Disk, pairs[i].Repl)
		}
	}
	return ""
}

// verify begins to compare, waits for the end, and tells what was found.
func (p *planner) verify(op Operation, r Resource, started bool) (Step, string) {
	id := op.WithPeer.Peer
	if !started {
		if why := p.equals(r, id); why != "" {
			return nil, why
		}
		return Verify{Target: r.target(false), Operation: op.ID, Peer: id}, ""
	}
	pairs, connected := p.pairs(r, id)
	e := p.ends(op, pairs)
	switch {
	case e.broken:
		return Finish{Result{ID: op.ID, Text: "the comparison was broken off: the copies lost each other"}}, ""
	case e.done == len(r.Devices):
		text := "no difference found"
		if e.found > 0 {
			text = fmt.Sprintf("%d bytes differ", e.found)
		}
		return Finish{Result{ID: op.ID, Succeeded: true, Text: text, OutOfSync: e.found}}, ""
	case e.running:
		return nil, fmt.Sprintf("it is being compared with replica %s", id)
	case !connected || !e.since:
		return Finish{Result{ID: op.ID, Text: "the comparison was broken off, or its end was not seen"}}, ""
	}
	return nil, "the end of the comparison is to be told"
}

// ends is how far the verifies of an operation have come.
type ends struct {
	since           bool // what was told before they began is known
	broken, running bool
	done            int   // devices
	found           int64 // bytes
}

func (p *planner) ends(op Operation, pairs []drbd.PeerDevice) ends {
	base, known := p.in.Facts.Verifying[op.ID]
	e := ends{since: known && base.Stream == p.in.Observed.Stream}
	for _, d := range pairs {
		pair := drbd.Pair{Peer: p.kernelID(op.WithPeer.Peer), Volume: d.Volume}
		past := p.in.Observed.Past[pair]
		if e.since {
			past.Verified -= base.Past[pair].Verified
			past.BrokenOff -= base.Past[pair].BrokenOff
		}
		runs := d.Repl.Comparing()
		e.broken = e.broken || past.BrokenOff > 0
		e.running = e.running || runs
		if past.Verified > 0 && !runs {
			e.done++
		}
		e.found += d.OutOfSync
	}
	return e
}

// repair guards the copying of what differs: never from a copy that is not UpToDate, never
// over one that is in use.
func (p *planner) repair(op Operation, r Resource) (Step, string) {
	id := op.WithPeer.Peer
	if why := p.equals(r, id); why != "" {
		return nil, why
	}
	over := p.up.Role
	if p.in.Observed.DRBD.Is84() {
		peer, _ := p.up.Peer(0)
		over = peer.Role
	}
	if over != drbd.Secondary {
		return notRun(op, "the copy that is to be mended is in use"), ""
	}
	if p.in.Observed.DRBD.Is84() && p.up.Suspended.Any() {
		return nil, "its I/O is frozen"
	}
	pairs, _ := p.pairs(r, id)
	if !slices.ContainsFunc(pairs, func(d drbd.PeerDevice) bool { return d.OutOfSync > 0 }) {
		return Finish{Result{ID: op.ID, Text: "not run: nothing is known to differ any more: compare again"}}, ""
	}
	return Repair{Target: r.target(false), Operation: op.ID, Peer: id}, ""
}
