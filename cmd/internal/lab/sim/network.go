package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// network connects named hosts. A link that is cut lets nothing pass and loses nothing:
// what was under way stalls, as TCP does, until the link heals or somebody gives up.
type network struct {
	mu        sync.Mutex
	listeners map[string]*listener // by "host:port"
	cut       map[[2]string]bool   // from, to
	healed    chan struct{}        // closed and replaced at each change
	conns     map[*conn]bool
}

func newNetwork() *network {
	return &network{
		listeners: map[string]*listener{}, cut: map[[2]string]bool{}, conns: map[*conn]bool{},
		healed: make(chan struct{}),
	}
}

// disturb cuts what from sends to to.
func (n *network) disturb(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[[2]string{from, to}] = true
	close(n.healed)
	n.healed = make(chan struct{})
}

// mend repairs what from sends to to.
func (n *network) mend(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.cut, [2]string{from, to})
	close(n.healed)
	n.healed = make(chan struct{})
}

// heal repairs every link.
func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	close(n.healed)
	n.healed = make(chan struct{})
}

// faults lists the links that are cut, for people.
func (n *network) faults() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for way := range n.cut {
		out = append(out, way[0]+" to "+way[1]+": cut")
	}
	slices.Sort(out)
	return out
}

// passes says whether from reaches to now, and when to ask again.
func (n *network) passes(from, to string) (bool, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.cut[[2]string{from, to}], n.healed
}

// listen opens a port of a host.
func (n *network) listen(addr string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[addr] != nil {
		return nil, &net.OpError{Op: "listen", Net: "sim", Addr: address(addr), Err: syscall.EADDRINUSE}
	}
	l := &listener{n: n, addr: addr, queue: make(chan net.Conn), done: make(chan struct{})}
	n.listeners[addr] = l
	return l, nil
}

// dialTimeout is how long a connection attempt over a cut link takes to fail.
const dialTimeout = 3 * time.Second

// dial connects host from to addr. Host "" is outside and reaches everybody.
func (n *network) dial(ctx context.Context, from, addr string) (net.Conn, error) {
	to, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	for _, way := range [][2]string{{from, to}, {to, from}} {
		for {
			ok, change := n.passes(way[0], way[1])
			if ok {
				break
			}
			select {
			case <-change:
			case <-ctx.Done():
				return nil, &net.OpError{Op: "dial", Net: "sim", Addr: address(addr), Err: syscall.ETIMEDOUT}
			}
		}
	}
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "sim", Addr: address(addr), Err: syscall.ECONNREFUSED}
	if l == nil {
		return nil, refused
	}
	near, far := n.pair(from, to)
	select {
	case l.queue <- far:
		return near, nil
	case <-l.done:
		return nil, refused
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// silence breaks every connection and port of a host, as a loss of its power does: the
// host's own ends are gone at once; the others notice by their timeouts only.
func (n *network) silence(host string) {
	n.mu.Lock()
	var gone []*conn
	for c := range n.conns {
		if c.local == host {
			gone = append(gone, c)
		}
	}
	var closed []*listener
	for addr, l := range n.listeners {
		if h, _, _ := net.SplitHostPort(addr); h == host {
			closed = append(closed, l)
		}
	}
	n.mu.Unlock()
	for _, c := range gone {
		c.vanish()
	}
	for _, l := range closed {
		_ = l.Close() // closing a port in memory cannot fail
	}
}

func (n *network) pair(a, b string) (*conn, *conn) {
	ab, ba := newPipe(), newPipe()
	near := &conn{n: n, local: a, remote: b, in: ba, out: ab}
	far := &conn{n: n, local: b, remote: a, in: ab, out: ba}
	n.mu.Lock()
	n.conns[near], n.conns[far] = true, true
	n.mu.Unlock()
	return near, far
}

type address string

func (address) Network() string  { return "sim" }
func (a address) String() string { return string(a) }

type listener struct {
	n     *network
	addr  string
	queue chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.n.mu.Lock()
		defer l.n.mu.Unlock()
		if l.n.listeners[l.addr] == l {
			delete(l.n.listeners, l.addr)
		}
	})
	return nil
}

func (l *listener) Addr() net.Addr { return address(l.addr) }

// pipe is one direction of a connection: a buffer with an end.
type pipe struct {
	mu     sync.Mutex
	buf    []byte
	closed bool          // no more will be written
	broken bool          // nobody reads
	change chan struct{} // closed and replaced at each change
}

// window is how much may be under way in one direction, in bytes.
const window = 1 << 20

func newPipe() *pipe { return &pipe{change: make(chan struct{})} }

func (p *pipe) changed() {
	close(p.change)
	p.change = make(chan struct{})
}

func (p *pipe) end(broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.broken = p.broken || broken
	p.changed()
}

// conn is one end of a connection.
type conn struct {
	n             *network
	local, remote string
	in, out       *pipe
	mu            sync.Mutex
	closed        bool
	read, write   deadline
}

func (c *conn) Read(b []byte) (int, error) {
	for {
		limit := c.read.wait()
		c.in.mu.Lock()
		change := c.in.change
		switch {
		case c.isClosed():
			c.in.mu.Unlock()
			return 0, net.ErrClosed
		case len(c.in.buf) > 0:
			k := copy(b, c.in.buf)
			c.in.buf = c.in.buf[k:]
			c.in.changed()
			c.in.mu.Unlock()
			return k, nil
		case c.in.closed:
			c.in.mu.Unlock()
			return 0, io.EOF
		}
		c.in.mu.Unlock()
		select {
		case <-change:
		case <-limit.passed:
			return 0, os.ErrDeadlineExceeded
		case <-limit.moved:
		}
	}
}

func (c *conn) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		limit := c.write.wait()
		ok, healed := c.n.passes(c.local, c.remote)
		c.out.mu.Lock()
		change := c.out.change
		switch {
		case c.isClosed():
			c.out.mu.Unlock()
			return done, net.ErrClosed
		case c.out.broken:
			c.out.mu.Unlock()
			return done, syscall.EPIPE
		case ok && len(c.out.buf) < window:
			k := min(window-len(c.out.buf), len(b)-done)
			c.out.buf = append(c.out.buf, b[done:done+k]...)
			done += k
			c.out.changed()
			c.out.mu.Unlock()
			continue
		}
		c.out.mu.Unlock()
		select {
		case <-change:
		case <-healed:
		case <-limit.passed:
			return done, os.ErrDeadlineExceeded
		case <-limit.moved:
		}
	}
	return done, nil
}

func (c *conn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Close ends this end; the other reads what is under way, then the end of file, unless
// the link is cut: then it learns nothing.
func (c *conn) Close() error {
	c.shut()
	if ok, _ := c.n.passes(c.local, c.remote); ok {
		c.out.end(false)
		c.in.end(true)
	}
	return nil
}

// vanish ends this end without a word to the other.
func (c *conn) vanish() { c.shut() }

func (c *conn) shut() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.n.mu.Lock()
	delete(c.n.conns, c)
	c.n.mu.Unlock()
	for _, p := range []*pipe{c.in, c.out} {
		p.mu.Lock()
		p.changed()
		p.mu.Unlock()
	}
	c.read.stop()
	c.write.stop()
}

func (c *conn) LocalAddr() net.Addr  { return address(c.local) }
func (c *conn) RemoteAddr() net.Addr { return address(c.remote) }

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error  { c.read.set(t); return nil }
func (c *conn) SetWriteDeadline(t time.Time) error { c.write.set(t); return nil }

// deadline is a moment that may be moved while somebody waits for it.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	now   limit
}

type limit struct{ passed, moved chan struct{} }

// wait returns what to wait for besides the event itself.
func (d *deadline) wait() limit {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.init()
	return d.now
}

func (d *deadline) init() {
	if d.now.passed == nil {
		d.now = limit{make(chan struct{}), make(chan struct{})}
	}
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.init()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	close(d.now.moved)
	d.now = limit{make(chan struct{}), make(chan struct{})}
	if t.IsZero() {
		return
	}
	passed := d.now.passed
	if wait := time.Until(t); wait > 0 {
		d.timer = time.AfterFunc(wait, func() { close(passed) })
		return
	}
	close(passed)
}

func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
