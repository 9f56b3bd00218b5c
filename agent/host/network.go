package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
)

// An Address is an IP address that an interface of this machine has.
type Address struct {
	Interface string
	Prefix    netip.Prefix
}

// Addresses lists what the interfaces of this machine have, link-local and
// loopback addresses included, sorted by interface.
func Addresses() ([]Address, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	var list []Address
	for _, link := range links {
		addrs, err := netlink.AddrList(link, netlink.FAMILY_ALL)
		if err != nil {
			return nil, fmt.Errorf("list addresses of %s: %w", link.Attrs().Name, err)
		}
		for _, a := range addrs {
			ip, ok := netip.AddrFromSlice(a.IP)
			if !ok {
				return nil, fmt.Errorf("list addresses of %s: %s is no address", link.Attrs().Name, a.IP)
			}
			ones, _ := a.Mask.Size()
			list = append(list, Address{link.Attrs().Name, netip.PrefixFrom(ip.Unmap(), ones)})
		}
	}
	slices.SortFunc(list, func(a, b Address) int {
		if a.Interface != b.Interface {
			return cmp.Compare(a.Interface, b.Interface)
		}
		return a.Prefix.Addr().Compare(b.Prefix.Addr())
	})
	return list, nil
}

// WatchAddresses calls changed whenever an address comes or goes, from one
// goroutine, until ctx ends or the subscription breaks.
func WatchAddresses(ctx context.Context, changed func()) error {
	updates := make(chan netlink.AddrUpdate)
	done := make(chan struct{})
	defer close(done)
	broken := make(chan error, 1)
	options := netlink.AddrSubscribeOptions{ErrorCallback: func(err error) {
		select {
		case broken <- err:
		default:
		}
	}}
	if err := netlink.AddrSubscribeWithOptions(updates, done, options); err != nil {
		return fmt.Errorf("watch addresses: %w", err)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-broken:
			return fmt.Errorf("watch addresses: %w", err)
		case _, ok := <-updates:
			if !ok {
				return errors.New("watch addresses: subscription has ended")
			}
			changed()
		}
	}
}

// A Scope says which addresses a node may name.
type Scope int

// The scopes.
const (
	Routable Scope = iota // other machines can reach it
	Loopback              // also this machine's own: for a lab on one machine
)

// ErrBadAddress is what CheckAddress refuses with.
var ErrBadAddress = errors.New("address cannot be used")

// CheckAddress tells why others do not reach a machine, which has the addresses
// of have, at addr.
func CheckAddress(addr netip.Addr, have []Address, scope Scope) error {
	addr = addr.Unmap()
	switch {
	case !addr.IsValid() || addr.IsUnspecified():
		return fmt.Errorf("%w: %s is no particular address", ErrBadAddress, addr)
	case addr.IsMulticast():
		return fmt.Errorf("%w: %s is a multicast address", ErrBadAddress, addr)
	case addr.IsLoopback() && scope != Loopback:
		return fmt.Errorf("%w: %s is a loopback address, other machines cannot reach it", ErrBadAddress, addr)
	case addr.IsLinkLocalUnicast():
		return fmt.Errorf("%w: %s is link-local, it means nothing without its interface", ErrBadAddress, addr)
	}
	for _, a := range have {
		if a.Prefix.Addr() == addr {
			return nil
		}
	}
	return fmt.Errorf("%w: no interface of this machine has %s", ErrBadAddress, addr)
}
