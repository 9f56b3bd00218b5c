package sim

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
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

// silence breaks every connection of a host, and its ports or those named, as a loss of its
// power does: the host's own ends are gone at once; the others notice by their timeouts only.
func (n *network) silence(host string, ports ...int) {
	n.mu.Lock()
	var gone []*conn
	for c := range n.conns {
		if c.local == host {
			gone = append(gone, c)
		}
	}
	var closed []*listener
	for addr, l := range n.listeners {
		h, p, _ := net.SplitHostPort(addr)
		if port, _ := strconv.Atoi(p); h == host && (len(ports) == 0 || slices.Contains(ports, port)) {
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

// reset breaks the connections between two hosts for both ends.
func (n *network) reset(a, b string) {
	n.mu.Lock()
	var gone []*conn
	for c := range n.conns {
		if c.local == a && c.remote == b || c.local == b && c.remote == a {
			gone = append(gone, c)
		}
	}
	n.mu.Unlock()
	for _, c := range gone {
		c.vanish()
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
