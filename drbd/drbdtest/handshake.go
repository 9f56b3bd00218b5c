package drbdtest

import (
	"slices"

	"rvol/drbd"
)

// verdict is what two ends conclude from their data generations.
type verdict int

const (
	noSync verdict = iota
	source         // this end gives what the bitmaps say
	sourceFull
	target
	targetFull
	splitBrain
	unrelated
)

// handshake connects two ends, or ends in StandAlone.
func (c *conn) handshake(o *conn) {
	c.link(o)
	if c.res.is84() && c.twoPrimaries(o) {
		c.refuse(o, splitBrain)
		return
	}
	verdicts := map[int]verdict{}
	for _, p := range c.devices() {
		v := p.compare()
		if p.clashes(v) {
			c.refuse(o, v)
			return
		}
		verdicts[p.volume] = v
	}
	if c.twoPrimaries(o) {
		c.refuse(o, splitBrain)
		return
	}
	for _, p := range c.devices() {
		p.meet(verdicts[p.volume])
	}
	c.discard, o.discard = false, false
	c.resend()
	o.resend()
	c.res.recount()
	o.res.recount()
}

// twoPrimaries says that both ends are Primary and must not be.
func (c *conn) twoPrimaries(o *conn) bool {
	return c.res.role == drbd.Primary && o.res.role == drbd.Primary && c.net["allow-two-primaries"] != "yes"
}

// clashes says that a verdict on one volume cannot be followed: nobody writes over the data
// of a Primary. It may read those of a third node, and have old ones itself: these are no
// loss.
func (p *peerDev) clashes(v verdict) bool {
	inUse := func(d *device) bool {
		return d.res.role == drbd.Primary && (d.state == drbd.UpToDate || d.state == drbd.Consistent)
	}
	switch v {
	case splitBrain, unrelated:
		return true
	case target, targetFull:
		return inUse(p.device())
	case source, sourceFull:
		return inUse(p.remote())
	default:
		return false
	}
}

// refuse drops a connection that must not be. Split brain ends in StandAlone
// on both sides, and so does rr-conflict disconnect; retry-connect tries
// again.
func (c *conn) refuse(o *conn, v verdict) {
	for _, end := range []*conn{c, o} {
		end.generation++
		end.state = drbd.Disconnecting
	}
	c.unlink()
	o.unlink()
	c.other, o.other, c.role, o.role = nil, nil, drbd.RoleUnknown, drbd.RoleUnknown
	for _, end := range []*conn{c, o} {
		if end.res.is84() && !end.objects(c, v) {
			end.connect()
			continue
		}
		if v != splitBrain && v != unrelated && end.net["rr-conflict"] == "retry-connect" {
			end.state = drbd.Connecting
			end.retry(end.option("connect-int", 10, secondUnit))
			continue
		}
		end.standAlone()
	}
}

// objects says that this end of a connection of DRBD 8.4 refuses a verdict of
// c's: of a Primary that would be written over and its peer, only the former.
func (end *conn) objects(c *conn, v verdict) bool {
	switch v {
	case target, targetFull:
		return end == c
	case source, sourceFull:
		return end != c
	default:
		return true
	}
}

// standAlone ends a connection for good. DRBD 8.4 forgets it.
func (c *conn) standAlone() {
	c.generation++
	c.state = drbd.StandAlone
	c.res.publish()
	if c.res.is84() {
		delete(c.res.conns, c.id)
	}
	c.res.recount()
}

// compare judges one volume by the generations of both ends, as
// drbd_uuid_compare does; disk states then decide between ends of which one
// is Inconsistent.
func (p *peerDev) compare() verdict {
	d, r := p.device(), p.remote()
	if !p.comparable() {
		return noSync
	}
	v := p.missed(p.settleSplitBrain(compareGenerations(d.md, p.slot(), r.md, p.other().slot())))
	full := v == sourceFull || v == targetFull || v == unrelated
	switch mine, theirs := d.state == drbd.Inconsistent, r.state == drbd.Inconsistent; {
	case mine && theirs && !d.res.is84(): // neither has anything to give
		return noSync
	case mine == theirs:
		return v
	case mine && full:
		return targetFull
	case mine:
		return target
	case full:
		return sourceFull
	}
	return source
}

// missed is for ends of one generation of which one got it from a third node, while the
// other, Primary, went on without it. DRBD calls such a resync unstable and leaves its target
// Outdated; here what counts are the Primary's bits.
func (p *peerDev) missed(v verdict) verdict {
	d, r := p.device(), p.remote()
	switch {
	case v != noSync || d.md.Current != r.md.Current:
		return v
	case d.res.is84():
		return p.missedEnd()
	case d.res.role == drbd.Primary && p.slot().OutOfSync != nil:
		return source
	case r.res.role == drbd.Primary && p.other().slot().OutOfSync != nil:
		return target
	}
	return noSync
}

// missedEnd finds a source of DRBD 8.4 that has not noticed the end of its resync.
func (p *peerDev) missedEnd() verdict {
	switch mine, theirs := p.slot().Bitmap != 0, p.other().slot().Bitmap != 0; {
	case mine && !theirs:
		return source
	case theirs && !mine:
		return target
	}
	return noSync
}

// settleSplitBrain lets the end that gives up its changes take the other's.
func (p *peerDev) settleSplitBrain(v verdict) verdict {
	c, o := p.conn, p.conn.other
	switch {
	case v != splitBrain || c.discard == o.discard:
		return v
	case c.discard:
		return target
	}
	return source
}

// comparable says that both ends have a disk and a bitmap for each other.
func (p *peerDev) comparable() bool {
	d, r, o := p.device(), p.remote(), p.other()
	return d != nil && r != nil && o != nil && d.md != nil && r.md != nil && p.slot() != nil && o.slot() != nil
}

func compareGenerations(a *metadata, aSlot *peerMD, b *metadata, bSlot *peerMD) verdict {
	switch {
	case a.Current == drbd.JustCreated && b.Current == drbd.JustCreated:
		return noSync
	case a.Current == drbd.JustCreated:
		return targetFull
	case b.Current == drbd.JustCreated:
		return sourceFull
	case a.Current == b.Current:
		return compareCrashed(a, b)
	case a.Current == bSlot.Bitmap:
		return target
	case b.Current == aSlot.Bitmap:
		return source
	case slices.Contains(b.History, a.Current):
		return targetFull
	case slices.Contains(a.History, b.Current):
		return sourceFull
	case aSlot.Bitmap != 0 && aSlot.Bitmap == bSlot.Bitmap, related(a, b):
		return splitBrain
	}
	return unrelated
}

// compareCrashed: with equal generations, the end that crashed while Primary
// may have written what the other never got.
func compareCrashed(a, b *metadata) verdict {
	switch {
	case a.Crashed:
		return source
	case b.Crashed:
		return target
	}
	return noSync
}

func related(a, b *metadata) bool {
	return slices.ContainsFunc(a.History, func(u drbd.UUID) bool { return slices.Contains(b.History, u) })
}

// meet makes one volume of two connected ends what the verdict says.
func (p *peerDev) meet(v verdict) {
	d, r, o := p.device(), p.remote(), p.other()
	if o == nil {
		return
	}
	p.introduce(r)
	o.introduce(d)
	if d == nil || r == nil {
		return
	}
	shareSize(d, r)
	if !p.comparable() {
		return
	}
	if v != noSync && d.size != r.size {
		p.garble(v)
		return
	}
	d.md.Crashed, r.md.Crashed = false, false
	if d.res.is84() { // sanitize_state: what is connected is not merely Consistent
		d.settleState()
		r.settleState()
	}
	switch v {
	case source, sourceFull:
		p.startResync(v == sourceFull)
	case target, targetFull:
		o.startResync(v == targetFull)
	default:
		agree(d, r)
		agree(r, d)
		if d.state != drbd.Inconsistent {
			p.clearBits()
			o.clearBits()
		}
	}
}

// introduce is what a node learns of its peer's device.
func (p *peerDev) introduce(r *device) {
	p.repl, p.suspended, p.disk = drbd.Established, "no", drbd.DUnknown
	if r != nil {
		p.disk, p.client = r.state, r.client
	}
}

// settleState is what becomes of good data when two of DRBD 8.4 are connected; who is to be
// written to is Inconsistent right afterwards.
func (d *device) settleState() {
	if d.state == drbd.Consistent || d.state == drbd.Outdated {
		d.setState(drbd.UpToDate)
	}
}

// agree makes a disk that is as good as an UpToDate one say so.
func agree(d, with *device) {
	if with.state == drbd.UpToDate && (d.state == drbd.Consistent || d.state == drbd.Outdated) {
		d.setState(drbd.UpToDate)
	}
}

// shareSize gives a device that has no size yet that of its peer; two disks
// that never met take the smaller.
func shareSize(a, b *device) {
	switch {
	case a.md == nil && b.size > 0:
		a.size = b.size
	case b.md == nil && a.size > 0:
		b.size = a.size
	case a.md == nil || b.md == nil:
	case a.res.is84():
		agreeOnSize(a, b)
	case a.size != b.size && (a.fresh() || b.fresh()):
		size := min(a.size, b.size)
		a.resize(size)
		b.resize(size)
	}
}

func (d *device) fresh() bool { return d.md.Current == drbd.JustCreated }

// resize sets the size; what is new counts as out of sync nowhere.
func (d *device) resize(size int64) {
	d.size = size
	if d.md == nil {
		return
	}
	for _, s := range d.md.Peers {
		s.OutOfSync = s.OutOfSync.remove(Extent{Off: size, Len: 1 << 60})
	}
	d.md.Size = size
	d.save()
}

func (p *peerDev) clearBits() {
	if s := p.slot(); s != nil {
		s.OutOfSync = nil
		if s.Bitmap != 0 {
			p.device().md.remember(s.Bitmap)
			s.Bitmap = 0
		}
		p.device().save()
	}
}
