package hub

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Set says what happens from now on to frames from one port to another.
func (h *Hub) Set(from, to string, l Link) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range []string{from, to} {
		if h.ports[name] == nil {
			return fmt.Errorf("change the link from %s to %s: there is no port %s", from, to, name)
		}
	}
	d := direction{from, to}
	if from == to {
		return fmt.Errorf("change the link from %s to itself: there is none", from)
	}
	h.endDelays(map[direction]*delayLine{d: h.delays[d]})
	delete(h.links, d)
	if l == (Link{}) || h.closed {
		return nil
	}
	h.links[d] = l
	if l.Delay > 0 {
		late := &delayLine{delay: l.Delay, frames: make(chan delayed, queueLen), end: make(chan struct{})}
		h.delays[d] = late
		h.running.Go(func() { late.run(func(f []byte) { h.deliver(d.to, f) }) })
	}
	return nil
}

// Heal makes every link healthy.
func (h *Hub) Heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endDelays(h.delays)
	clear(h.links)
}

// endDelays ends delay lines; the caller holds the lock. Frames under way are lost, as in a cable that is pulled.
func (h *Hub) endDelays(lines map[direction]*delayLine) {
	for d, late := range lines {
		if late != nil {
			close(late.end)
			delete(h.delays, d)
		}
	}
}

// Faults lists the links that are not healthy, for people.
func (h *Hub) Faults() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var all []string
	for d, l := range h.links {
		all = append(all, d.from+" -> "+d.to+": "+l.String())
	}
	slices.Sort(all)
	return all
}

// String says what the link does, for people.
func (l Link) String() string {
	var says []string
	if l.Cut {
		says = append(says, "cut")
	}
	if l.Drop > 0 {
		says = append(says, fmt.Sprintf("%d %% lost", l.Drop))
	}
	if l.Delay > 0 {
		says = append(says, "delayed "+l.Delay.String())
	}
	if says == nil {
		return "healthy"
	}
	return strings.Join(says, ", ")
}

// A delayLine holds frames back without changing their order.
type delayLine struct {
	delay  time.Duration
	frames chan delayed
	end    chan struct{}
}

type delayed struct {
	due   time.Time
	frame []byte
}

func (l *delayLine) add(f []byte) {
	select {
	case l.frames <- delayed{time.Now().Add(l.delay), f}:
	default: // full: lost, as in any switch
	}
}

func (l *delayLine) run(deliver func([]byte)) {
	for {
		select {
		case <-l.end:
			return
		case f := <-l.frames:
			select {
			case <-l.end:
				return
			case <-time.After(time.Until(f.due)):
				deliver(f.frame)
			}
		}
	}
}
