package drbdtest

import (
	"strconv"

	"rvol/drbd"
)

// Quorum of DRBD 9. Voters are this node's disk and the peers with a bitmap,
// connected or not. A partition has quorum when enough voters are present
// and enough of those are UpToDate. With exactly half of an even number of
// voters, a node that had quorum keeps it while it sees a majority of the
// diskless nodes, itself included: the tie-breakers. They count at the moment
// when a voter is lost; one that is lost later takes nothing away.

// votes counts a device's partition.
type votes struct {
	voters, present, upToDate int
	diskless, disklessSeen    int
	quorate                   int // peers with good data that have quorum themselves
}

func (d *device) votes() votes {
	var v votes
	if !d.client {
		v.voters++
		v.present++
		v.upToDate += b01(d.state == drbd.UpToDate || d.state == drbd.Consistent)
	}
	if d.client {
		v.diskless++
		v.disklessSeen++
	}
	for _, c := range d.res.conns {
		if p := c.devs[d.volume]; p != nil {
			v.count(c, p)
		}
	}
	return v
}

// count adds a peer: one with a bitmap votes, one without may break a tie.
func (v *votes) count(c *conn, p *peerDev) {
	connected := c.state == drbd.Connected
	if p.opts["bitmap"] != "no" {
		v.voters++
		v.present += b01(connected) // without a disk too: it is on its way to one, or from it
		v.upToDate += b01(connected && (p.disk == drbd.UpToDate || p.disk == drbd.Consistent))
		o := p.remote()
		v.quorate += b01(connected && p.disk == drbd.UpToDate && o != nil && o.quorum)
		return
	}
	if c.net["allow-remote-read"] != "no" && p.opts["peer-tiebreaker"] != "no" {
		v.diskless++
		v.disklessSeen += b01(connected && !c.broken()) // it is asked
	}
}

// hasQuorum computes it anew; had is whether it was there before.
func (d *device) hasQuorum(had bool) bool {
	need, off := d.res.threshold("quorum", d.votes().voters)
	if off {
		return true
	}
	v := d.votes()
	redundancy, none := d.res.threshold("quorum-minimum-redundancy", v.voters)
	if !none && v.upToDate < redundancy {
		return false
	}
	if v.present >= need || d.client && v.quorate > 0 {
		return true // who has no disk goes by the peers that have one
	}
	return had && v.half(need) && (v.tieBroken() || d.present == v.present)
}

// half says that exactly one vote of an even number is missing.
func (v votes) half(need int) bool {
	return v.voters%2 == 0 && v.present*2 == v.voters && v.present == need-1
}

func (v votes) tieBroken() bool { return v.diskless > 0 && v.disklessSeen*2 > v.diskless }

// threshold reads an option; off says that it does not bind.
func (r *resource) threshold(option string, voters int) (need int, off bool) {
	switch s := r.opts[option]; s {
	case "", "off":
		return 0, true
	case "majority":
		return voters/2 + 1, false
	case "all":
		return voters, false
	default:
		n, _ := strconv.Atoi(s)
		return n, false
	}
}

// recountAll computes quorum here and at the connected peers, and tells.
func (r *resource) recountAll() {
	r.recount()
	for _, c := range r.connections() {
		if c.other != nil {
			c.other.res.recount()
			c.other.res.publish()
		}
	}
}

// recount computes quorum of all devices, and then that of the diskless peers that go by it.
func (r *resource) recount() {
	r.compute()
	for _, c := range r.connections() {
		if o := c.other; o != nil && o.res.goesByPeers() {
			o.res.compute()
			o.res.publish()
		}
	}
}

// goesByPeers says that the resource has no disk of its own here.
func (r *resource) goesByPeers() bool {
	for _, d := range r.devs {
		if !d.client {
			return false
		}
	}
	return true
}

func (r *resource) compute() {
	for _, d := range r.devs {
		d.quorum = r.is84() || d.hasQuorum(d.quorum)
		d.present = d.votes().present
	}
}

// frozen says whether I/O waits, in the words of events2.
func (r *resource) frozen() string {
	if r.frozenIO {
		return "fencing"
	}
	if r.opts["on-no-quorum"] == drbd.IOError {
		return "no"
	}
	for _, d := range r.devs {
		if !d.quorum && (d.state != drbd.Diskless || d.client) {
			return "quorum"
		}
	}
	return "no"
}
