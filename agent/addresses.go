package agent

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"rvol/agent/host"
)

// Addresses are the replication addresses of a node, by network.
type Addresses interface {
	// Present are those that the machine has; missing says of the other
	// networks why theirs is not among them.
	Present() (present, missing map[string]string)
	// Watch calls changed when that changes, until ctx ends.
	Watch(ctx context.Context, changed func()) error
}

// FixedAddresses are there always.
type FixedAddresses map[string]string

// Present gives them all.
func (a FixedAddresses) Present() (present, missing map[string]string) { return maps.Clone(a), nil }

// Watch waits for ctx.
func (FixedAddresses) Watch(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return nil
}

// hostAddresses are those of this machine's interfaces.
type hostAddresses struct {
	wanted map[string]string
	scope  host.Scope
	log    *slog.Logger

	mu      sync.Mutex
	present map[string]string
	missing map[string]string
}

// HostAddresses looks for the wanted addresses on this machine's interfaces.
func HostAddresses(wanted map[string]string, scope host.Scope, log *slog.Logger) Addresses {
	a := &hostAddresses{wanted: wanted, scope: scope, log: log}
	a.look()
	return a
}

// Present gives those seen last.
func (a *hostAddresses) Present() (present, missing map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.present), maps.Clone(a.missing)
}

// watchPause is how long to wait before the kernel is asked again for news.
const watchPause = 10 * time.Second

// Watch follows the kernel's messages about addresses.
func (a *hostAddresses) Watch(ctx context.Context, changed func()) error {
	look := func() {
		if a.look() {
			changed()
		}
	}
	for {
		look() // something may have changed while nobody listened
		if err := host.WatchAddresses(ctx, look); ctx.Err() == nil {
			a.log.WarnContext(ctx, "addresses are not watched", "err", err, "again", watchPause)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchPause):
		}
	}
}

// look reports whether anything is other than before.
func (a *hostAddresses) look() bool {
	present, missing := checkAddresses(a.wanted, a.scope)
	a.mu.Lock()
	defer a.mu.Unlock()
	same := maps.Equal(a.missing, missing) && maps.Equal(a.present, present)
	a.present, a.missing = present, missing
	return !same
}

// checkAddresses says which of the addresses can be used on this machine, and
// why the others cannot.
func checkAddresses(wanted map[string]string, scope host.Scope) (present, missing map[string]string) {
	present, missing = map[string]string{}, map[string]string{}
	have, err := host.Addresses()
	for network, text := range wanted {
		why := err
		if why == nil {
			why = checkAddress(text, have, scope)
		}
		if why != nil {
			missing[network] = why.Error()
			continue
		}
		present[network] = text
	}
	return present, missing
}

func checkAddress(text string, have []host.Address, scope host.Scope) error {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return err
	}
	return host.CheckAddress(addr, have, scope)
}

// whyMissing says what Present found missing in a sentence; empty: nothing.
func whyMissing(missing map[string]string) string {
	var why []string
	for _, network := range slices.Sorted(maps.Keys(missing)) {
		why = append(why, fmt.Sprintf("network %s: %s", network, missing[network]))
	}
	return strings.Join(why, "; ")
}
