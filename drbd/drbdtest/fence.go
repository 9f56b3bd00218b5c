package drbdtest

import (
	"context"

	"rvol/drbd"
)

// Fencing of DRBD 8.4, as its kernel has it for resource-and-stonith: a
// Primary whose peer is gone and not known to be outdated freezes I/O and asks
// its helper; a Secondary asks before it becomes Primary alone. What follows
// from the helper's exit code is that of conn_try_outdate_peer.

// A Helper is what `drbdadm fence-peer RESOURCE` exits with on a node. It is
// called without any lock; ctx ends with the node's power.
type Helper func(ctx context.Context, resource string) int

// The helper's answers, as the kernel reads them.
const (
	peerInconsistent = 3
	peerOutdated     = 4
	peerDown         = 5
	peerPrimary      = 6
	peerStonithed    = 7
)

// fences says that the resource has a policy of fencing.
func (r *resource) fences() bool {
	for _, d := range r.devs {
		if r.is84() && d.md != nil && d.opts["fencing"] == "resource-and-stonith" {
			return true
		}
	}
	return false
}

// unfenced says that the peer may still be of use, for all that is known.
func (c *conn) unfenced() bool {
	if c.state == drbd.Connected {
		return false
	}
	for _, p := range c.devs {
		if p.disk != drbd.Outdated && p.disk != drbd.Inconsistent {
			return true
		}
	}
	return false
}

// rotateWhenThawed begins a new generation, with frozen I/O not before it goes
// on.
func (d *device) rotateWhenThawed() {
	if d.delayed = d.res.frozenIO; !d.delayed {
		d.rotate()
	}
}

// freeze is what a Primary does that has lost its peer.
func (c *conn) freeze() {
	r := c.res
	if r.role != drbd.Primary || !r.fences() || !c.unfenced() || r.frozenIO {
		return
	}
	r.frozenIO = true
	r.publish()
	established := c.established
	r.node.help(r.name, func(code int) {
		if r.node.resources[r.name] == r {
			c.answered(code, established)
		}
	})
}

// help runs the helper, and hands its answer over under the lock, unless the
// node has lost its power meanwhile.
func (n *Node) help(resource string, then func(code int)) {
	f, boots := n.fabric, n.boots
	if f.closed {
		return
	}
	f.running.Go(func() {
		code := n.helper(n.power, resource)
		f.mu.Lock()
		defer f.mu.Unlock()
		if n.on && n.boots == boots && !f.closed {
			n.helped = append(n.helped, code)
			then(code)
			f.wake()
		}
	})
}

// Helped gives what the helper has answered so far.
func (n *Node) Helped() []int {
	n.fabric.mu.Lock()
	defer n.fabric.mu.Unlock()
	return append([]int{}, n.helped...)
}

// answered is conn_try_outdate_peer after its helper. A connection that was
// made meanwhile counts for more than the answer.
func (c *conn) answered(code, established int) (outdated bool) {
	r := c.res
	if c.state == drbd.Connected || c.established != established {
		return !c.unfenced()
	}
	switch code {
	case peerInconsistent:
		c.peerIs(drbd.Inconsistent)
	case peerOutdated, peerStonithed:
		c.peerIs(drbd.Outdated)
	case peerDown:
		if r.disksAre(drbd.UpToDate) {
			c.peerIs(drbd.Outdated)
		}
	case peerPrimary:
		r.outdateSelf()
	}
	if !c.unfenced() {
		r.thaw()
	}
	r.publish()
	return !c.unfenced()
}

func (c *conn) peerIs(s drbd.DiskState) {
	for _, p := range c.devices() {
		p.disk = s
		if d := p.device(); d != nil && d.md != nil {
			d.md.PeerOutdated = true
			d.save()
		}
	}
}

// underWay says that writes wait for I/O to go on: until then there is no
// becoming Secondary.
func (r *resource) underWay() bool {
	for _, d := range r.devs {
		if d.writing > 0 || len(d.unsent) > 0 {
			return true
		}
	}
	return false
}

func (r *resource) disksAre(s drbd.DiskState) bool {
	for _, d := range r.devs {
		if d.state != s {
			return false
		}
	}
	return true
}

// outdateSelf is refused to a Primary.
func (r *resource) outdateSelf() {
	for _, d := range r.devices() {
		if r.role == drbd.Secondary && (d.state == drbd.UpToDate || d.state == drbd.Consistent) {
			d.setState(drbd.Outdated)
		}
	}
}

// thaw lets I/O go on without the peer: what is here begins a new generation,
// and what was under way counts as missing there.
func (r *resource) thaw() {
	if !r.frozenIO {
		return
	}
	r.frozenIO = false
	for _, d := range r.devices() {
		if d.delayed {
			d.delayed = false
			d.rotate()
		}
		for _, e := range d.unsent {
			markMissing([]*device{d}, e)
		}
		d.unsent = nil
	}
}

// resend lets I/O go on with the peer that is back: it gets what was under
// way, unless a resync brings that, or takes it away.
func (c *conn) resend() {
	r := c.res
	if r.is84() && !r.frozenIO || c.state != drbd.Connected {
		return
	}
	r.frozenIO = false
	for _, p := range c.devices() {
		d, o := p.device(), p.remote()
		if d == nil {
			continue
		}
		for _, e := range d.unsent {
			if p.repl == drbd.Established && o != nil && o.disk != nil && d.disk != nil {
				_ = transfer(d.disk, o.disk, e) // a disk that fails now fails at the next write too
			}
		}
		d.delayed, d.unsent = false, nil
	}
}

// outdatePeer is what fencing asks of an orderly end of a connection: the
// Secondary's data is old from here on, and both know.
func (c *conn) outdatePeer(o *conn) {
	switch {
	case !c.res.fences() || c.broken():
	case c.res.role == drbd.Primary && o.res.role == drbd.Secondary:
		o.outdate(c)
	case c.res.role == drbd.Secondary && o.res.role == drbd.Primary:
		c.outdate(o)
	}
}

// promotions is how often the kernel tries, and so asks.
const promotions = 4

// fencePeers asks the helper before a promotion that no peer can object to.
func (r *resource) fencePeers(ctx context.Context, object any, f force) error {
	for range promotions {
		if r.role == drbd.Primary || !r.fences() || !r.peer84().unfenced() || !r.wouldServe() {
			return nil
		}
		if err := r.askHelper(ctx, f); err != nil {
			return err
		}
	}
	switch {
	case !r.peer84().unfenced() || !r.wouldServe():
		return nil // other reasons than fencing decide
	case !r.disksAre(drbd.UpToDate):
		return changed(object, 17, -2, "Need access to UpToDate data")
	}
	return changed(object, 11, -7, "Refusing to be Primary while peer is not outdated")
}

// askHelper waits for one answer, and does what it says.
func (r *resource) askHelper(ctx context.Context, f force) error {
	c := r.peer84()
	var answer *int
	established := c.established
	r.node.help(r.name, func(code int) { answer = &code })
	for answer == nil {
		if err := r.node.waiting(ctx); err != nil {
			return err
		}
		if r.node.resources[r.name] != r {
			return unknownResource(r.name)
		}
	}
	if !c.answered(*answer, established) && f == forcibly {
		c.peerIs(drbd.Outdated)
	}
	return nil
}

// peer84 is the connection; without one, what is known of the peer.
func (r *resource) peer84() *conn {
	if c := r.conns[0]; c != nil {
		return c
	}
	c := &conn{res: r, state: drbd.StandAlone, devs: map[int]*peerDev{}}
	for volume, d := range r.devs {
		c.addDevice(volume)
		if d.md != nil && d.md.PeerOutdated {
			c.devs[volume].disk = drbd.Outdated
		}
	}
	return c
}

// wouldServe says that nothing but the unknown peer is in the way.
func (r *resource) wouldServe() bool {
	for _, d := range r.devs {
		if d.state != drbd.UpToDate && d.state != drbd.Consistent {
			return false
		}
	}
	return true
}

// afterAttach is the state of a disk whose metadata call it good: with
// fencing, that is for the peer to say, unless it was outdated.
func (d *device) afterAttach() drbd.DiskState {
	if d.md.State == drbd.UpToDate && d.res.fences() && !d.md.PeerOutdated {
		return drbd.Consistent
	}
	return d.md.State
}
