package sim

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

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
