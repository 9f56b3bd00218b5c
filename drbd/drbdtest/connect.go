package drbdtest

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"rvol/drbd"
)

const (
	firstTry = 500 * time.Millisecond // from Connecting to Connected when both are there
	tenth    = 100 * time.Millisecond
)

// option reads a number of the net options in a unit.
func (c *conn) option(name string, def int, unit time.Duration) time.Duration {
	if n, err := strconv.Atoi(c.net[name]); err == nil {
		return time.Duration(n) * unit
	}
	return time.Duration(def) * unit
}

// connect begins to try.
func (c *conn) connect() {
	c.generation++
	c.state = drbd.Unconnected
	c.res.publish()
	c.state = drbd.Connecting
	c.retry(firstTry + time.Duration(c.id)*time.Millisecond)
}

// retry tries after a while, and again every connect-int.
func (c *conn) retry(after time.Duration) {
	f, generation := c.res.node.fabric, c.generation
	f.after(after, func() {
		if generation != c.generation || c.state != drbd.Connecting {
			return
		}
		if o := c.findOther(); o != nil {
			o.generation++
			c.generation++
			c.handshake(o)
			c.res.publish()
			o.res.publish()
			return
		}
		c.retry(c.option("connect-int", 10, time.Second))
	})
}

// findOther finds the peer's end, when it too is trying to connect, reachable
// and of the same secret.
func (c *conn) findOther() *conn {
	f := c.res.node.fabric
	for _, path := range c.paths {
		for _, n := range f.nodes {
			r := n.resources[c.res.name]
			if n == c.res.node || r == nil || !f.reachable(n, c.res.node) {
				continue
			}
			for _, o := range r.conns {
				if o.state == drbd.Connecting && o.hasPath(path[1], path[0]) &&
					o.net["shared-secret"] == c.net["shared-secret"] && o.mutual(c) {
					return o
				}
			}
		}
	}
	return nil
}

func (c *conn) hasPath(local, peer string) bool {
	for _, p := range c.paths {
		if p[0] == local && p[1] == peer {
			return true
		}
	}
	return false
}

// mutual says that both ends mean each other's node-id.
func (c *conn) mutual(o *conn) bool {
	return c.res.is84() || o.res.is84() || c.id == o.res.id && o.id == c.res.id
}

// link joins two ends.
func (c *conn) link(o *conn) {
	c.other, o.other = o, c
	c.established++
	o.established++
	c.state, o.state = drbd.Connected, drbd.Connected
	c.role, o.role = o.res.role, c.res.role
}

// unlink forgets the peer's end and all that was known of it.
func (c *conn) unlink() {
	for _, p := range c.devices() {
		if d := p.device(); d != nil {
			d.save()
		}
		p.repl, p.total, p.suspended, p.unaware = drbd.Off, 0, "no", false
		if p.disk != drbd.Inconsistent && p.disk != drbd.Outdated || c.res.is84() && p.disk == drbd.Diskless {
			p.disk = drbd.DUnknown
		}
	}
	if o := c.other; o != nil && o.other == c {
		o.other = nil
	}
	c.other, c.role = nil, drbd.RoleUnknown
}

// lose ends a connection whose peer is not heard any more, and tries again.
func (c *conn) lose(why drbd.ConnState) {
	if c.res.jammed() {
		return
	}
	primary := c.role == drbd.Primary
	c.generation++
	c.state = why
	c.unlink()
	c.freeze()
	c.parted()
	c.afterLoss(primary)
	c.res.publish()
	c.connect()
	if primary {
		c.res.gotStable()
	}
}

// parted begins a new generation on a Primary of DRBD 8.4 whose peer's data is out of
// reach, for what it writes from now on.
func (c *conn) parted() {
	if !c.res.is84() || c.res.role != drbd.Primary {
		return
	}
	for _, p := range c.devices() {
		d, slot := p.device(), p.slot()
		if d != nil && d.state == drbd.UpToDate && slot != nil && slot.Bitmap == 0 {
			d.rotateWhenThawed()
		}
	}
}

// afterLoss is what a node concludes when a peer is gone.
func (c *conn) afterLoss(peerWasPrimary bool) {
	r := c.res
	r.recount()
	for _, p := range c.devices() {
		d := p.device()
		if d == nil || d.state != drbd.UpToDate {
			continue
		}
		if !r.is84() && r.role == drbd.Secondary && peerWasPrimary && r.mayBeOld(d) {
			d.setState(drbd.Consistent)
		}
	}
	r.continueResyncs()
}

// mayBeOld says that a Primary may go on where it cannot be seen from here:
// with quorum and others to agree with, a Secondary knows only that its data
// was good.
func (r *resource) mayBeOld(d *device) bool {
	_, off := r.threshold("quorum", 0)
	company := false
	for _, c := range r.conns {
		company = company || c.state == drbd.Connected && !c.broken()
	}
	return !off && d.quorum && company && !r.seesPrimary()
}

// seesPrimary says that a connected peer is Primary.
func (r *resource) seesPrimary() bool {
	for _, c := range r.conns {
		if c.state == drbd.Connected && c.role == drbd.Primary {
			return true
		}
	}
	return false
}

// close ends a connection on purpose: this end is StandAlone, the other goes
// on trying.
func (c *conn) close() {
	o := c.other
	if o != nil && c.res.is84() {
		c.outdatePeer(o)
	}
	c.generation++
	c.state = drbd.Disconnecting
	c.unlink()
	c.res.publish()
	c.state = drbd.StandAlone
	c.freeze()
	c.res.recount()
	if o == nil {
		return
	}
	c.parted()
	if o.res.role == drbd.Primary {
		defer c.res.gotStable()
	}
	if !c.res.is84() && c.res.role == drbd.Secondary && o.res.role == drbd.Primary {
		c.outdate(o)
	}
	o.lose(drbd.TearDown)
}

// outdate is a Secondary's farewell to its Primary: what it holds will be
// old, and both remember.
func (c *conn) outdate(o *conn) {
	for _, d := range c.res.devs {
		if d.state == drbd.UpToDate || d.state == drbd.Consistent {
			d.setState(drbd.Outdated)
		}
		if p := o.devs[d.volume]; p != nil && d.md != nil && d.state == drbd.Outdated {
			p.disk = drbd.Outdated
		}
	}
}

// watchLinks starts the clocks of connections that are broken and not yet
// known to be. A pending write shortens the time; see hurry.
func (f *Fabric) watchLinks() {
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		n := f.nodes[name]
		if !n.on {
			continue
		}
		for _, r := range n.sorted() {
			for _, c := range r.connections() {
				if c.state == drbd.Connected && c.broken() {
					c.loseAfter(c.option("ping-int", 10, time.Second) + c.option("ping-timeout", 5, tenth))
				}
			}
		}
	}
}

// broken says that the peer cannot be heard, or is not there any more.
func (c *conn) broken() bool {
	return c.other == nil || c.other.other != c || !c.res.node.fabric.reachable(c.res.node, c.other.res.node)
}

// hurry is the timeout of an answer to data, which is shorter than an idle
// connection's.
func (c *conn) hurry() { c.loseAfter(c.option("timeout", 60, tenth)) }

func (c *conn) loseAfter(d time.Duration) {
	generation := c.generation
	c.res.node.fabric.after(d, func() {
		if generation == c.generation && c.state == drbd.Connected && c.broken() {
			c.lose(drbd.NetworkFailure)
		}
	})
}
