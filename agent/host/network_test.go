package host

import (
	"context"
	"errors"
	"net/netip"
	"testing"
)

func TestAddressesForReplication(t *testing.T) {
	have := []Address{
		{"lo", netip.MustParsePrefix("127.0.0.1/8")},
		{"eth0", netip.MustParsePrefix("10.77.0.1/24")},
		{"eth0", netip.MustParsePrefix("fe80::1/64")},
		{"eth0", netip.MustParsePrefix("fd00::1/64")},
	}
	tests := []struct {
		addr  string
		scope Scope
		ok    bool
	}{
		{"10.77.0.1", Routable, true},
		{"::ffff:10.77.0.1", Routable, true},
		{"fd00::1", Routable, true},
		{"10.77.0.2", Routable, false},
		{"127.0.0.1", Routable, false},
		{"127.0.0.1", Loopback, true},
		{"127.0.0.2", Loopback, false},
		{"0.0.0.0", Loopback, false},
		{"::", Loopback, false},
		{"fe80::1", Routable, false},
		{"224.0.0.1", Routable, false},
	}
	for _, tt := range tests {
		err := CheckAddress(netip.MustParseAddr(tt.addr), have, tt.scope)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrBadAddress) {
			t.Errorf("%s: %v", tt.addr, err)
		}
	}
	if err := CheckAddress(netip.Addr{}, have, Loopback); !errors.Is(err, ErrBadAddress) {
		t.Errorf("no address: %v", err)
	}
}

func TestAddressesOfThisMachine(t *testing.T) {
	have, err := Addresses()
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckAddress(netip.MustParseAddr("127.0.0.1"), have, Loopback); err != nil {
		t.Errorf("%v: %v", have, err)
	}
}

func TestWatchingAddressesEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WatchAddresses(ctx, func() {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
