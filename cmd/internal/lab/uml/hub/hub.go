package hub

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxFrame   = 70_000
	minFrame   = 14   // two addresses and a type
	queueLen   = 4096 // frames that wait for a port; more get lost, as in any switch
	sendBuffer = 4 << 20
	maxSocket  = 107 // bytes of a unix socket's path
)

// A Link is what happens to frames from one port to another. The zero Link is healthy.
type Link struct {
	Cut   bool
	Drop  int           // percent that get lost
	Delay time.Duration // of each frame; their order stays
}

// PortStats counts what a port has seen.
type PortStats struct {
	Port   string
	Up     bool
	Frames int64 // received from the node
	Bytes  int64
	Lost   int64 // frames for the node that its queue had no room for
}

type address [6]byte

type direction struct{ from, to string }

// A Hub is a running switch.
type Hub struct {
	mu        sync.RWMutex
	ports     map[string]*port
	stations  map[address]string // which port an address was last seen on
	links     map[direction]Link
	delays    map[direction]*delayLine
	listeners []*net.UnixListener
	closed    bool
	running   sync.WaitGroup
}

type port struct {
	name                string
	conn                *net.UnixConn // nil: down
	out                 chan []byte   // for conn
	frames, bytes, lost atomic.Int64
}

// Listen starts a switch whose ports are the sockets dir/PORT.sock.
func Listen(dir string, ports ...string) (*Hub, error) {
	h := &Hub{
		ports: map[string]*port{}, stations: map[address]string{},
		links: map[direction]Link{}, delays: map[direction]*delayLine{},
	}
	for _, name := range ports {
		l, err := listen(filepath.Join(dir, name+".sock"))
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
		h.ports[name] = &port{name: name}
		h.listeners = append(h.listeners, l)
	}
	for i, name := range ports { // no port is served before all are there
		h.running.Go(func() { h.accept(h.listeners[i], h.ports[name]) })
	}
	return h, nil
}

func listen(path string) (*net.UnixListener, error) {
	if len(path) > maxSocket {
		return nil, fmt.Errorf("listen on %s: its path has %d bytes, a unix socket's at most %d: use a shorter folder", path, len(path), maxSocket)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("make room for a port: %w", err)
	}
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		return nil, fmt.Errorf("make a port: %w", err)
	}
	return l, nil
}

// accept serves one port. A node that boots again connects again, and the newest connection counts.
func (h *Hub) accept(l *net.UnixListener, p *port) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		c.SetWriteBuffer(sendBuffer) // a smaller buffer is only slower
		out := make(chan []byte, queueLen)
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			c.Close()
			return
		}
		if p.conn != nil {
			p.conn.Close()
		}
		p.conn, p.out = c, out
		gone := make(chan struct{})
		h.running.Go(func() { h.read(c, p); close(gone) })
		h.running.Go(func() { transmit(c, out, gone) })
		h.mu.Unlock()
	}
}

func transmit(c *net.UnixConn, out <-chan []byte, gone <-chan struct{}) {
	for {
		select {
		case f := <-out:
			if _, err := c.Write(f); err != nil {
				c.Close()
				return
			}
		case <-gone:
			return
		}
	}
}

func (h *Hub) read(c *net.UnixConn, p *port) {
	buf := make([]byte, maxFrame)
	for {
		n, err := c.Read(buf)
		if err != nil || n == 0 {
			break
		}
		if n < minFrame {
			continue
		}
		p.frames.Add(1)
		p.bytes.Add(int64(n))
		h.forward(p.name, slices.Clone(buf[:n]))
	}
	c.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.conn == c {
		p.conn, p.out = nil, nil
	}
}

// forward learns where the frame comes from and sends it where it goes: to all when nobody knows.
func (h *Hub) forward(from string, f []byte) {
	dst, src := address(f[:6]), address(f[6:12])
	h.mu.RLock()
	learned := h.stations[src] == from
	to, known := h.stations[dst]
	h.mu.RUnlock()
	if !learned {
		h.mu.Lock()
		h.stations[src] = from
		h.mu.Unlock()
	}
	multicast := dst[0]&1 != 0
	if known && !multicast {
		if to != from {
			h.pass(direction{from, to}, f)
		}
		return
	}
	for name := range h.ports {
		if name != from {
			h.pass(direction{from, name}, f)
		}
	}
}

// pass sends a frame over a link, with the link's faults.
func (h *Hub) pass(d direction, f []byte) {
	h.mu.RLock()
	l, late := h.links[d], h.delays[d]
	h.mu.RUnlock()
	switch {
	case l.Cut, l.Drop > 0 && rand.IntN(100) < l.Drop: // not for secrets
	case late != nil:
		late.add(f)
	default:
		h.deliver(d.to, f)
	}
}

func (h *Hub) deliver(to string, f []byte) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	p := h.ports[to]
	if p.out == nil {
		return
	}
	select {
	case p.out <- f:
	default:
		p.lost.Add(1)
	}
}

// Stats counts, by port.
func (h *Hub) Stats() []PortStats {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var all []PortStats
	for _, p := range h.ports {
		all = append(all, PortStats{Port: p.name, Up: p.conn != nil, Frames: p.frames.Load(), Bytes: p.bytes.Load(), Lost: p.lost.Load()})
	}
	slices.SortFunc(all, func(a, b PortStats) int { return cmp.Compare(a.Port, b.Port) })
	return all
}

// Close ends the switch and waits until nothing of it runs.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	for _, l := range h.listeners {
		l.Close()
	}
	for _, p := range h.ports {
		if p.conn != nil {
			p.conn.Close()
		}
	}
	h.endDelays(h.delays)
	h.mu.Unlock()
	h.running.Wait()
	return nil
}
