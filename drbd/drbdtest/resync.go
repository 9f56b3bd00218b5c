package drbdtest

import (
	"strconv"
	"strings"
	"time"

	"rvol/drbd"
)

const (
	secondUnit  = time.Second
	tick        = 100 * time.Millisecond
	defaultRate = 100 << 20 // bytes per second
)

// startResync makes this end the source.
func (p *peerDev) startResync(full bool) {
	d, r, o := p.device(), p.remote(), p.other()
	mine, theirs := p.slot(), o.slot()
	bits := mine.OutOfSync.union(theirs.OutOfSync)
	if full {
		bits = extents{}.add(Extent{Len: d.size})
	}
	mine.OutOfSync, theirs.OutOfSync = bits, bits
	p.total, o.total = bits.bytes(), bits.bytes()
	if mine.Bitmap == 0 || r.fresh() { // a generation of its own, for when this breaks off
		mine.Bitmap = p.conn.res.node.fabric.newUUID()
	}
	r.md.remember(r.md.Current)
	r.md.Current = mine.Bitmap
	r.setState(drbd.Inconsistent)
	d.save()
	p.disk, o.disk = r.state, d.state
	p.whole, o.whole = full, full
	if r.syncing() {
		p.repl, o.repl = drbd.PausedSyncS, drbd.PausedSyncT
		p.suspended, o.suspended = "peer", "dependency"
		return
	}
	p.runResync()
}

// syncing says that a device is being written to by a resync.
func (d *device) syncing() bool {
	for _, c := range d.res.conns {
		if p := c.devs[d.volume]; p != nil && p.repl == drbd.SyncTarget {
			return true
		}
	}
	return false
}

// suspension says why no resync with the peer runs; while this disk is being written to
// by one, none with anybody else would.
func (p *peerDev) suspension() string {
	if d := p.device(); d != nil && p.repl == drbd.Off && !d.res.is84() && d.syncing() {
		return "dependency"
	}
	return p.suspended
}

func (p *peerDev) runResync() {
	o := p.other()
	p.repl, o.repl = drbd.SyncSource, drbd.SyncTarget
	p.suspended, o.suspended = "no", "no"
	if p.holdBack(); p.repl == drbd.SyncSource {
		p.step()
	}
}

// step copies what one tick allows, and asks for the next.
func (p *peerDev) step() {
	f, generation := p.conn.res.node.fabric, p.conn.generation
	f.after(tick, func() {
		if generation != p.conn.generation || p.repl != drbd.SyncSource {
			return
		}
		if !p.conn.broken() {
			chunk := p.outOfSync().first(int64(float64(p.rate()) * tick.Seconds()))
			if !p.copyBlocks(chunk) {
				return
			}
			if p.outOfSync().bytes() == 0 {
				p.finish()
				return
			}
		}
		p.step()
	})
}

// rate is what the options say, in bytes per second.
func (p *peerDev) rate() int64 {
	opts := p.opts
	if d := p.device(); p.conn.res.is84() && d != nil {
		opts = d.opts
	}
	if opts["c-plan-ahead"] == "0" && opts["resync-rate"] != "" {
		if n, err := parseRate(opts["resync-rate"]); err == nil {
			return n
		}
	}
	return defaultRate
}

// parseRate reads a number of KiB, or with a suffix.
func parseRate(s string) (int64, error) {
	unit := int64(1 << 10)
	for suffix, u := range map[string]int64{"k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "s": 512} {
		if t, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = t, u
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n * unit, err
}

// copyBlocks gives blocks to the target; false when a disk failed.
func (p *peerDev) copyBlocks(chunk extents) bool {
	d, r, o := p.device(), p.remote(), p.other()
	for _, e := range chunk {
		if err := transfer(d.disk, r.disk, e); err != nil {
			if _, ok := err.(sourceError); ok { //nolint:errorlint // made right here, never wrapped
				d.fail()
			} else {
				r.fail()
			}
			return false
		}
		p.slot().OutOfSync = p.slot().OutOfSync.remove(e)
		o.slot().OutOfSync = o.slot().OutOfSync.remove(e)
		r.missedBy(d, e)
	}
	return true
}

// missedBy notes, where a resync has written, that peers which are not there have not got
// it: they may come back to this disk first.
func (d *device) missedBy(source *device, e Extent) {
	for _, c := range d.res.connections() {
		p := c.devs[d.volume]
		if p == nil || p.slot() == nil || p.remote() == source {
			continue
		}
		if r := p.remote(); c.state != drbd.Connected || r == nil || r.md == nil {
			p.slot().OutOfSync = p.slot().OutOfSync.add(e)
		}
	}
}

type sourceError struct{ error }

// transfer makes a range of one disk equal to that of another.
func transfer(from, to Disk, e Extent) error {
	if err := to.Discard(e.Off, e.Len); err != nil {
		return err
	}
	for _, part := range from.Data(e.Off, e.Len) {
		start, end := max(part.Off, e.Off), min(part.End(), e.End())
		buf := make([]byte, end-start)
		if _, err := from.ReadAt(buf, start); err != nil {
			return sourceError{err}
		}
		if _, err := to.WriteAt(buf, start); err != nil {
			return err
		}
	}
	return nil
}

// finish makes the target UpToDate, of the source's generation, unless that is not stable.
func (p *peerDev) finish() {
	if p.passing() {
		p.breakOff()
		return
	}
	d, r, o := p.device(), p.remote(), p.other()
	d.md.remember(p.slot().Bitmap)
	r.md.remember(r.md.Current)
	for _, u := range d.md.History {
		r.md.remember(u)
	}
	r.md.Current = d.md.Current
	o.clearBits()
	o.repl, o.total = drbd.Established, 0
	r.setState(d.state)
	r.settlePaused()
	if p.unaware = d.res.is84() && p.conn.res.node.fabric.unheard && p.total <= fewBlocks; p.unaware {
		p.disk = drbd.Inconsistent
	} else {
		p.clearBits()
		p.repl, p.total = drbd.Established, 0
	}
	d.res.recount()
	r.res.recount()
	d.res.publish()
	r.res.publish()
	for _, c := range r.res.connections() { // others see it too
		if c.other != nil {
			c.other.res.publish()
		}
	}
}

// fewBlocks is how short a resync is, in bytes, whose end may be missed.
const fewBlocks = 64 << 10

// tell tells the peers of a resource of DRBD 8.4 its state: a source hears that its target is done.
func (r *resource) tell() {
	for _, c := range r.connections() {
		for _, p := range c.devices() {
			if o := p.other(); o != nil && o.unaware && !c.broken() {
				o.unaware, o.repl, o.total, o.disk = false, drbd.Established, 0, p.device().state
				o.clearBits()
				o.conn.res.recount()
				o.conn.res.publish()
			}
		}
	}
}

// pause is pause-sync and resume-sync.
func (n *Node) pause(minor drbd.Minor, on bool) error {
	d := n.device(minor)
	if d == nil {
		return unknownMinor(minor)
	}
	c := d.res.conns[0]
	if c == nil || c.devs[d.volume] == nil {
		return failed(d.minor, 162, "Invalid configuration request")
	}
	p := c.devs[d.volume]
	switch {
	case on && p.paused:
		return failed(d.minor, 134, "Sync-pause flag is already set")
	case !on && !p.paused:
		return failed(d.minor, 135, "Sync-pause flag is already cleared")
	}
	p.paused = on
	p.holdBack()
	d.res.tell()
	d.res.publish()
	if o := p.other(); o != nil {
		o.conn.res.publish()
	}
	return nil
}

// holdBack lets a resync run or wait, as both ends want it.
func (p *peerDev) holdBack() {
	o := p.other()
	if o == nil {
		return
	}
	waits := p.paused || o.paused
	for _, end := range []*peerDev{p, o} {
		end.suspended = end.heldBy()
		switch {
		case waits && end.repl == drbd.SyncSource:
			end.repl = drbd.PausedSyncS
		case waits && end.repl == drbd.SyncTarget:
			end.repl = drbd.PausedSyncT
		case !waits && end.repl == drbd.PausedSyncS:
			end.goOn()
		}
	}
}

// heldBy says who holds a resync back.
func (p *peerDev) heldBy() string {
	switch {
	case p.paused:
		return "user"
	case p.other().paused:
		return "peer"
	}
	return "no"
}

// goOn ends a pause, for a source.
func (p *peerDev) goOn() {
	if p.unaware {
		p.repl = drbd.SyncSource
		return
	}
	p.runResync()
}

// settlePaused ends the resyncs that waited for the one that is done: the
// data is there. Bits of a full resync stay set until the two meet again.
func (d *device) settlePaused() {
	for _, c := range d.res.connections() {
		p := c.devs[d.volume]
		if p == nil || p.repl != drbd.PausedSyncT || p.other() == nil {
			continue
		}
		for _, end := range []*peerDev{p, p.other()} {
			if !end.whole {
				end.clearBits()
			}
			end.slot().Bitmap = 0
			end.repl, end.suspended, end.total = drbd.Established, "no", 0
			end.conn.res.publish()
		}
	}
}

// continueResyncs lets a waiting resync run when the one before it broke.
func (r *resource) continueResyncs() {
	for _, d := range r.devices() {
		if d.syncing() {
			continue
		}
		for _, c := range r.connections() {
			p := c.devs[d.volume]
			if p != nil && p.repl == drbd.PausedSyncT && p.other() != nil {
				p.other().runResync()
				break
			}
		}
	}
}

// stopResyncs ends what a device without disk cannot go on with.
func (d *device) stopResyncs() {
	for _, c := range d.res.connections() {
		p := c.devs[d.volume]
		if p == nil || p.other() == nil {
			continue
		}
		for _, end := range []*peerDev{p, p.other()} {
			if end.repl.Resyncing() {
				end.repl, end.suspended, end.total = drbd.Established, "no", 0
			}
		}
	}
}

// verify compares one volume with a peer; it takes as long as a resync of
// all of it.
func (p *peerDev) verify() {
	p.repl, p.other().repl = drbd.VerifyS, drbd.VerifyT
	begun, takes := time.Now(), time.Duration(float64(p.device().size)/float64(p.rate())*float64(time.Second))
	p.compared = func() float64 { return min(100, 100*float64(time.Since(begun))/float64(max(takes, 1))) }
	p.other().compared = p.compared
	p.verified(takes)
}

// verified ends it after so long, unless the peer is not heard any more.
func (p *peerDev) verified(after time.Duration) {
	generation := p.conn.generation
	p.conn.res.node.fabric.after(after, func() {
		switch {
		case generation != p.conn.generation || p.repl != drbd.VerifyS:
			return
		case p.conn.broken():
			p.verified(tick)
			return
		}
		o := p.other()
		p.repl, o.repl = drbd.Established, drbd.Established
		for _, e := range differences(p.device().disk, p.remote().disk, p.device().size) {
			p.slot().OutOfSync = p.slot().OutOfSync.add(e)
			o.slot().OutOfSync = o.slot().OutOfSync.add(e)
		}
		p.device().save()
		p.remote().save()
		p.conn.res.publish()
		o.conn.res.publish()
	})
}

// differences lists the blocks in which two disks differ.
func differences(a, b Disk, size int64) extents {
	var found extents
	one, two := make([]byte, pageSize), make([]byte, pageSize)
	for _, e := range extents(a.Data(0, size)).union(b.Data(0, size)) {
		for at := blocks(e); at.Len > 0; at.Off, at.Len = at.Off+pageSize, at.Len-pageSize {
			_, errA := a.ReadAt(one, at.Off)
			_, errB := b.ReadAt(two, at.Off)
			if errA == nil && errB == nil && string(one) != string(two) {
				found = found.add(Extent{Off: at.Off, Len: pageSize})
			}
		}
	}
	return found
}
