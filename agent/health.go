package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"rvol/agent/host"
	"rvol/proto/probe"
)

// HealthPort is where an agent says that it lives, unless it is told another port.
const HealthPort = 7175

// Health is the agent's own door, with which its node registers: who asks there learns that
// the agent lives and has looked at its machine, and nothing else.
type Health struct {
	Addr netip.AddrPort
	// Check says why others do not reach this machine there.
	Check func() error
	// Listen opens it. Nil: there is no door, as in agents of before.
	Listen func(context.Context) (net.Listener, error)
}

// HostHealth is a door of this machine.
func HostHealth(addr netip.AddrPort, scope host.Scope) Health {
	return Health{
		Addr: addr,
		Check: func() error {
			have, err := host.Addresses()
			if err != nil {
				return err
			}
			return host.CheckAddress(addr.Addr(), have, scope)
		},
		Listen: func(ctx context.Context) (net.Listener, error) {
			return new(net.ListenConfig).Listen(ctx, "tcp", addr.String())
		},
	}
}

// healthAddress reads --health; empty is the usual port of the first replication address.
func healthAddress(text string, addresses map[string]string) (netip.AddrPort, error) {
	if text != "" {
		addr, err := netip.ParseAddrPort(text)
		if err != nil || addr.Port() == 0 {
			return addr, fmt.Errorf("--health %q: want IP:PORT of this machine", text)
		}
		return addr, nil
	}
	first := addresses[DefaultNetwork]
	for _, network := range slices.Sorted(maps.Keys(addresses)) {
		first = cmp.Or(first, addresses[network])
	}
	addr, err := netip.ParseAddr(first)
	if err != nil {
		return netip.AddrPort{}, errors.New("this node has no replication address: name the address of its health door with --health IP:PORT")
	}
	return netip.AddrPortFrom(addr, HealthPort), nil
}

// healthDoor is a Health that is kept open.
type healthDoor struct {
	Health
	mu     sync.Mutex
	absent error // why others do not reach this machine there
	closed error // why it is not open
}

// open opens the door. It returns nil where that fails, and trouble says why.
func (d *healthDoor) open(ctx context.Context) net.Listener {
	if d.Listen == nil || !d.look() {
		return nil
	}
	l, err := d.Listen(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = err
	return l
}

// look says whether this machine has the address now, and remembers it.
func (d *healthDoor) look() bool {
	if d.Listen == nil {
		return false
	}
	err := d.Check()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.absent = err
	return err == nil
}

// text is its address; empty: there is none.
func (d *healthDoor) text() string {
	if d.Listen == nil {
		return ""
	}
	return d.Addr.String()
}

// trouble says why nobody reached it when that was looked at last; empty: it is open.
func (d *healthDoor) trouble() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := cmp.Or(d.absent, d.closed); err != nil {
		return err.Error()
	}
	return ""
}

// healthPause is how long to wait before opening the door is tried again.
const healthPause = 10 * time.Second

// openHealth opens the door, before anybody is told of it, and returns what answers there
// until its ctx ends. What fails is tried again and again: an address may come late.
func (a *agent) openHealth(ctx context.Context) func(context.Context) error {
	l := a.health.open(ctx)
	return func(ctx context.Context) error {
		for a.health.Listen != nil {
			if l != nil {
				probe.Serve(ctx, l, probe.Config{Live: probe.Within(func() { a.statusText() }), Ready: a.observed, Log: a.Log})
			} else {
				a.Log.WarnContext(ctx, "health door is not open", "addr", a.health.text(), "err", a.health.trouble(), "again", healthPause)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(healthPause):
			}
			l = a.health.open(ctx)
			a.session.Changed()
		}
		return nil
	}
}
