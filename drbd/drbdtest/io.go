package drbdtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rvol/drbd"
)

// What a program gets from a device.
var (
	ErrNoDevice = errors.New("no such device")
	ErrReadOnly = errors.New("device is not Primary")
	ErrIO       = errors.New("input/output error")
)

// opener is somebody who holds a device open.
type opener struct {
	process string
	pid     int
	at      time.Time
}

// Open holds a device open in a process's name, as mount does, until done is
// called. It needs Primary.
func (n *Node) Open(minor drbd.Minor, process string) (done func(), err error) {
	f := n.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := n.usableDevice(minor)
	if err != nil {
		return nil, err
	}
	o := opener{process: process, pid: 400 + len(n.runs), at: time.Now()}
	d.openers = append(d.openers, o)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, other := range d.openers {
			if other == o {
				d.openers = append(d.openers[:i:i], d.openers[i+1:]...)
				return
			}
		}
	}, nil
}

func (n *Node) usableDevice(minor drbd.Minor) (*device, error) {
	d := n.device(minor)
	switch {
	case !n.on:
		return nil, errNoPower
	case d == nil:
		return nil, fmt.Errorf("/dev/drbd%d: %w", minor, ErrNoDevice)
	case d.res.role != drbd.Primary:
		return nil, fmt.Errorf("/dev/drbd%d: %w", minor, ErrReadOnly)
	}
	return d, nil
}

// Write writes to a device and waits until it is on every disk that takes
// part, as protocol C does. A write that did not return may or may not be
// there later, on any of them.
func (n *Node) Write(ctx context.Context, minor drbd.Minor, off int64, data []byte) error {
	f := n.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := n.readyDevice(ctx, minor)
	if err != nil {
		return err
	}
	if off < 0 || off+int64(len(data)) > d.size {
		return fmt.Errorf("write %d bytes at %d of %d: %w", len(data), off, d.size, ErrIO)
	}
	d.writing++
	defer func() { d.writing-- }()
	d.writeLocal(off, data)
	for {
		wait, late := d.writeRemote(off, data)
		if !wait {
			return n.acknowledge(ctx, minor, late)
		}
		again, err := n.readyAgain(ctx, minor)
		if err != nil {
			d.giveUp(Extent{Off: off, Len: int64(len(data))})
			return err
		}
		if again != d { // it was taken down and up
			again.writing++
			d.writing--
		}
		d = again
	}
}

// giveUp is for a write whose caller does not wait any more: it is here, and
// may not be there.
func (d *device) giveUp(where Extent) {
	switch {
	case d.md == nil || d.res.node.resources[d.res.name] != d.res:
	case d.res.frozenIO:
		d.unsent = append(d.unsent, where)
	case d.res.frozen() != "no": // no quorum: it waits on, and no generation begins
		d.unsent = append(d.unsent, where)
		for _, slot := range d.md.Peers {
			slot.OutOfSync = slot.OutOfSync.add(blocks(where))
		}
		d.save()
	default:
		markMissing([]*device{d}, where)
	}
}

// readyDevice waits while I/O is frozen.
func (n *Node) readyDevice(ctx context.Context, minor drbd.Minor) (*device, error) {
	for {
		d, err := n.usableDevice(minor)
		switch {
		case err != nil:
			return nil, err
		case d.jammed:
		case d.res.frozen() == "no" && !d.quorum:
			return nil, fmt.Errorf("/dev/drbd%d: no quorum: %w", minor, ErrIO)
		case d.res.frozen() == "no" && (d.data() != nil || d.res.opts["on-no-data-accessible"] != drbd.SuspendIO):
			return d, nil
		}
		if err := n.waiting(ctx); err != nil {
			return nil, err
		}
	}
}

func (n *Node) readyAgain(ctx context.Context, minor drbd.Minor) (*device, error) {
	if err := n.waiting(ctx); err != nil {
		return nil, err
	}
	return n.readyDevice(ctx, minor)
}

// acknowledge is the way of the last answer.
func (n *Node) acknowledge(ctx context.Context, minor drbd.Minor, late time.Duration) error {
	f := n.fabric
	for there := time.Now().Add(late); time.Now().Before(there); {
		f.after(time.Until(there), func() {})
		if err := n.waiting(ctx); err != nil {
			return err
		}
	}
	d := n.device(minor)
	if d == nil || d.data() == nil {
		return fmt.Errorf("/dev/drbd%d: no disk left: %w", minor, ErrIO)
	}
	return nil
}

// data finds a device that holds all data: this one, or that of a peer.
func (d *device) data() *device {
	if d.state == drbd.UpToDate {
		return d
	}
	for _, c := range d.res.connections() {
		p := c.devs[d.volume]
		if p == nil || c.broken() || p.remote() == nil || c.net["allow-remote-read"] == "no" {
			continue
		}
		if p.remote().state == drbd.UpToDate && p.remote().md != nil {
			return p.remote()
		}
	}
	return nil
}

// writeLocal puts data onto this node's disk. It may be in flight to the
// peers when power goes: the activity log remembers where.
func (d *device) writeLocal(off int64, data []byte) {
	if d.md == nil || !d.hasDisk() {
		return
	}
	const extent = 4 << 20
	hot := Extent{Off: off / extent * extent, Len: (off%extent + int64(len(data)) + extent - 1) / extent * extent}
	hot.Len = min(hot.Len, d.size-hot.Off)
	if grown := d.md.Hot.add(hot); grown.bytes() != d.md.Hot.bytes() {
		d.md.Hot = grown
		d.save()
	}
	if d.disk == nil {
		return
	}
	if _, err := d.disk.WriteAt(data, off); err != nil {
		d.fail()
		d.res.publish()
	}
}

// writeRemote puts data onto the peers' disks. It must wait while a peer is
// neither heard nor known to be gone.
func (d *device) writeRemote(off int64, data []byte) (wait bool, late time.Duration) {
	var stored []*device
	if d.md != nil {
		stored = append(stored, d)
	}
	f := d.res.node.fabric
	for _, c := range d.res.connections() {
		p := c.devs[d.volume]
		if c.state != drbd.Connected || p == nil {
			continue
		}
		if c.broken() {
			c.hurry()
			return true, 0
		}
		if r := p.remote(); r != nil && r.md != nil && r.hasDisk() {
			stored = append(stored, r)
			late = max(late, f.roundTrip(d.res.node, r.res.node))
		}
	}
	for _, s := range stored {
		if s == d {
			continue // was first
		}
		if _, err := s.disk.WriteAt(data, off); err != nil {
			s.fail()
			s.res.publish()
		}
	}
	markMissing(stored, Extent{Off: off, Len: int64(len(data))})
	return false, late
}

// markMissing notes at every disk that took a write which peers did not, and
// begins a new generation when that was not so before.
func markMissing(stored []*device, where Extent) {
	took := map[string]bool{}
	for _, s := range stored {
		took[s.res.node.name] = s.md != nil
	}
	for _, s := range stored {
		if s.md == nil {
			continue
		}
		changed := false
		for _, c := range s.res.connections() {
			p := c.devs[s.volume]
			if p == nil || p.slot() == nil {
				continue
			}
			slot := p.slot()
			if took[p.peerNode()] {
				changed = changed || slot.OutOfSync != nil
				slot.OutOfSync = slot.OutOfSync.remove(wholeBlocks(where))
				continue
			}
			if slot.Bitmap == 0 && s.state == drbd.UpToDate {
				s.rotate()
			}
			slot.OutOfSync = slot.OutOfSync.add(blocks(where))
			changed = true
		}
		if changed {
			s.save()
		}
	}
}

// peerNode names the node at the other end, as far as it is connected.
func (p *peerDev) peerNode() string {
	if p.conn.other == nil {
		return ""
	}
	return p.conn.other.res.node.name
}

// Read reads from a device: from this node's disk where it is good, else
// from a peer's.
func (n *Node) Read(ctx context.Context, minor drbd.Minor, off, length int64) ([]byte, error) {
	n.fabric.mu.Lock()
	defer n.fabric.mu.Unlock()
	for {
		d, err := n.readyDevice(ctx, minor)
		if err != nil {
			return nil, err
		}
		from := d.data()
		if from == nil {
			return nil, fmt.Errorf("/dev/drbd%d: no UpToDate data: %w", minor, ErrIO)
		}
		buf := make([]byte, length)
		if _, err = from.disk.ReadAt(buf, off); err == nil {
			return buf, nil
		}
		if off+length > from.size {
			return nil, fmt.Errorf("read %d bytes at %d of %d: %w", length, off, from.size, ErrIO)
		}
		from.fail()
		from.res.publish()
	}
}
