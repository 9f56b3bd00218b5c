package drbdtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"rvol/drbd"
)

// The versions that the recordings were made with.
var (
	V84 = drbd.Version{Kernel: drbd.Number{Major: 8, Minor: 4, Patch: 11}, Tools: drbd.Number{Major: 9, Minor: 22}}
	V9  = drbd.Version{Kernel: drbd.Number{Major: 9, Minor: 3, Patch: 3}, Tools: drbd.Number{Major: 9, Minor: 22}}
)

// A Fabric is several nodes and the network between them. All its state is
// behind one lock; whoever waits, waits without it.
type Fabric struct {
	mu      sync.Mutex
	nodes   map[string]*Node
	cut     map[[2]string]bool // from, to
	delay   map[[2]string]time.Duration
	changed chan struct{} // closed and made anew at every change
	timers  map[*time.Timer]struct{}
	running sync.WaitGroup // timer functions and blocked calls
	closed  bool
	uuids   drbd.UUID
	unheard bool // ends of short resyncs
}

// NewFabric makes one without nodes.
func NewFabric() *Fabric {
	return &Fabric{
		nodes: map[string]*Node{}, cut: map[[2]string]bool{}, delay: map[[2]string]time.Duration{},
		changed: make(chan struct{}), timers: map[*time.Timer]struct{}{},
	}
}

// Close ends everything: timers, blocked reads and writes, event streams. It
// returns when nothing runs any more.
func (f *Fabric) Close() {
	f.mu.Lock()
	f.closed = true
	for t := range f.timers {
		if t.Stop() {
			f.running.Done()
		}
	}
	clear(f.timers)
	for _, n := range f.nodes {
		n.cut()
	}
	f.wake()
	f.mu.Unlock()
	f.running.Wait()
}

// Node gives a node by name, or nil.
func (f *Fabric) Node(name string) *Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[name]
}

// LoseEnds lets sources of DRBD 8.4 miss the end of resyncs of a few blocks, from now on, as they sometimes do: the target's word that
// it is done overtakes its acknowledgement of the last block, and is not believed; it is not said again by itself.
func (f *Fabric) LoseEnds() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unheard = true
}

// Cut loses everything between two nodes.
func (f *Fabric) Cut(a, b string) {
	f.link(func() { f.cut[[2]string{a, b}], f.cut[[2]string{b, a}] = true, true })
}

// CutOneWay loses what one node sends to another. Their connections break
// all the same: nothing is acknowledged.
func (f *Fabric) CutOneWay(from, to string) {
	f.link(func() { f.cut[[2]string{from, to}] = true })
}

// Isolate loses everything between a node and all others.
func (f *Fabric) Isolate(name string) {
	f.link(func() {
		for other := range f.nodes {
			if other != name {
				f.cut[[2]string{name, other}], f.cut[[2]string{other, name}] = true, true
			}
		}
	})
}

// Heal repairs all links. Delays stay.
func (f *Fabric) Heal() { f.link(func() { clear(f.cut) }) }

// HealLink repairs the link between two nodes.
func (f *Fabric) HealLink(a, b string) {
	f.link(func() {
		delete(f.cut, [2]string{a, b})
		delete(f.cut, [2]string{b, a})
	})
}

// Delay makes everything between two nodes take so long, one way.
func (f *Fabric) Delay(a, b string, d time.Duration) {
	f.link(func() { f.delay[[2]string{a, b}], f.delay[[2]string{b, a}] = d, d })
}

func (f *Fabric) link(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.watchLinks()
	f.wake()
}

// reachable says that two nodes can talk: both have power, both directions
// work.
func (f *Fabric) reachable(a, b *Node) bool {
	return a.on && b.on && !f.cut[[2]string{a.name, b.name}] && !f.cut[[2]string{b.name, a.name}]
}

// roundTrip is how long a question and its answer take.
func (f *Fabric) roundTrip(a, b *Node) time.Duration {
	return f.delay[[2]string{a.name, b.name}] + f.delay[[2]string{b.name, a.name}]
}

// wake lets everybody who waits look again.
func (f *Fabric) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// after runs do later, under the lock. It may be asked under the lock only.
func (f *Fabric) after(d time.Duration, do func()) {
	if f.closed {
		return
	}
	f.running.Add(1)
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		defer f.running.Done()
		f.mu.Lock()
		defer f.mu.Unlock()
		if _, on := f.timers[t]; !on {
			return
		}
		delete(f.timers, t)
		do()
		f.wake()
	})
	f.timers[t] = struct{}{}
}

var (
	errClosed  = errors.New("the simulation has ended")
	errNoPower = errors.New("node has no power")
)

// wait gives the lock away until something changed. The caller looks again.
func (f *Fabric) wait(ctx context.Context) error {
	if f.closed {
		return errClosed
	}
	changed := f.changed
	f.running.Add(1)
	defer f.running.Done()
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newUUID gives a generation that was never used. Bit 0 is DRBD's own.
func (f *Fabric) newUUID() drbd.UUID {
	f.uuids++
	return 0x5EED<<48 | f.uuids<<8
}
