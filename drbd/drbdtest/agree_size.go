package drbdtest

import (
	"slices"

	"rvol/drbd"
)

// agreeOnSize is how two of DRBD 8.4 do that: each says what it could hold with its metadata where they are, hears the other, and only
// then looks how large its own disk is by now. One whose disk has grown unseen takes what the other says, and has said less itself.
func agreeOnSize(a, b *device) {
	held := a.held
	if held == 0 || b.held != 0 && b.held < held {
		held = b.held
	}
	x, y := a.agreed(b, held), b.agreed(a, held)
	a.held, b.held = held, held
	a.take(x)
	b.take(y)
}

func (d *device) agreed(peer *device, held int64) int64 {
	size := min(d.md.usable(d.disk.Size()), peer.md.usable(peer.mdSize))
	if held != 0 {
		size = min(size, held)
	}
	if d.fresh() {
		return size
	}
	return max(size, d.size)
}

// take sets the size that was agreed on. What is new differs until it was copied.
func (d *device) take(size int64) {
	old := d.size
	if size == old && d.disk.Size() == d.mdSize {
		return
	}
	d.moveTo(size)
	if d.md == nil || size <= old {
		return
	}
	for _, s := range d.md.Peers {
		s.OutOfSync = s.OutOfSync.add(Extent{Off: old, Len: size - old})
	}
	d.save()
}

// garble is an exchange of bitmaps of two sizes: who gets the larger one refuses it, and they meet again. A source that is written at
// that moment does not get over it: what is being written never ends, and the node that writes needs a reboot.
func (p *peerDev) garble(v verdict) {
	from := p
	if v == target || v == targetFull {
		from = p.other()
	}
	to := from.other()
	from.repl, to.repl = drbd.WFBitMapS, drbd.WFBitMapT
	generation := from.conn.generation
	p.conn.res.node.fabric.after(tenth, func() {
		if generation != from.conn.generation || from.conn.other != to.conn {
			return
		}
		if d := from.device(); d != nil && (len(d.openers) > 0 || d.writing > 0) {
			d.jammed = true
		}
		from.conn.lose(drbd.NetworkFailure)
		to.conn.lose(drbd.ProtocolError)
	})
}

// jammed says that a device of the resource hangs in an exchange of bitmaps: nothing ends that.
func (r *resource) jammed() bool {
	return slices.ContainsFunc(r.devices(), func(d *device) bool { return d.jammed })
}
