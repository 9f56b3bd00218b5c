package drbdtest

import "rvol/drbd"

// Stability of DRBD 9. A Secondary that is connected with a Primary is not the last word:
// what it gives to a third node may be old a moment later, for that node does not hear the
// Primary. Such a resync copies what it copies, and its target stays Inconsistent, of the
// generation it had. It begins again when the source has lost its Primary, or with the
// Primary itself. (drbd_main.c drbd_device_stable, drbd_sender.c was_resync_stable and
// drbd_stable_sync_source_present, drbd_state.c UUID_FLAG_GOT_STABLE.)

// stable says that nobody else's writes reach this node alone.
func (r *resource) stable() bool { return r.is84() || r.role == drbd.Primary || !r.seesPrimary() }

// passing says that what this end, a source, has given is not to be relied on: it is not
// stable, and the target neither hears the Primary, nor is it, nor is given data by anybody
// who is stable.
func (p *peerDev) passing() bool {
	to := p.conn.other.res
	if p.conn.res.stable() || to.role == drbd.Primary {
		return false
	}
	for _, c := range to.connections() {
		q := c.devs[p.volume]
		if c == p.conn.other || q == nil || q.repl == drbd.Off {
			continue
		}
		target := q.repl == drbd.SyncTarget || q.repl == drbd.PausedSyncT
		if c.role == drbd.Primary || target && c.other != nil && c.other.res.stable() {
			return false
		}
	}
	return true
}

// breakOff ends a resync whose target is what it was.
func (p *peerDev) breakOff() {
	o := p.other()
	for _, end := range []*peerDev{p, o} {
		end.repl, end.suspended, end.total = drbd.Established, "no", 0
		end.device().save()
		end.conn.res.publish()
	}
	o.conn.res.continueResyncs()
}

// gotStable offers its data to the peers that lack them, for who has lost its Primary.
func (r *resource) gotStable() {
	if r.is84() || !r.stable() {
		return
	}
	for _, c := range r.connections() {
		if c.state != drbd.Connected || c.broken() || !c.other.res.stable() {
			continue
		}
		for _, p := range c.devices() {
			if p.comparable() && p.repl == drbd.Established && p.ahead() {
				p.meet(p.compare())
				c.other.res.publish()
			}
		}
	}
	r.publish()
}

// ahead says that this end has good data and the other has not.
func (p *peerDev) ahead() bool {
	here, there := p.device().state, p.remote().state
	return (here == drbd.UpToDate || here == drbd.Consistent) && (there == drbd.Inconsistent || there == drbd.Outdated)
}
