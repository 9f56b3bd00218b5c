package drbd

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Render writes the .res file for one version. Options are written in full,
// also where they are DRBD's defaults, because the file means the same with
// and without a global_common.conf beside it. What a version does not know
// is left out.
func (c Config) Render(v Version) ([]byte, error) {
	if err := c.Validate(v); err != nil {
		return nil, err
	}
	var w writer
	w.line("# Made by rvol; changes are overwritten.")
	w.open("resource %q", c.Resource)
	c.options(&w, v)
	c.net(&w, v)
	c.disk(&w, v)
	c.handlers(&w, v)
	for _, h := range c.Hosts {
		c.host(&w, v, h)
	}
	if !v.Is84() {
		for _, h := range c.Hosts {
			if h.Name != c.This {
				c.connection(&w, h)
			}
		}
	}
	w.close()
	return w.text, nil
}

func (c Config) options(w *writer, v Version) {
	o := c.Options
	w.open("options")
	w.option("on-no-data-accessible", SuspendIO)
	if !v.Is84() {
		w.option("auto-promote", yesNo(o.AutoPromote))
		w.option("quorum", orOff(o.Quorum))
		w.option("quorum-minimum-redundancy", orOff(o.QuorumMinimumRedundancy))
		w.option("on-no-quorum", cmp.Or(o.OnNoQuorum, SuspendIO))
		if v.Kernel.AtLeast(9, 1, 7) {
			w.option("on-suspended-primary-outdated", "force-secondary")
		}
	}
	w.close()
}

func (c Config) net(w *writer, v Version) {
	o := c.Options
	w.open("net")
	w.option("protocol", "C")
	w.option("allow-two-primaries", yesNo(o.AllowTwoPrimaries))
	w.option("after-sb-0pri", "disconnect")
	w.option("after-sb-1pri", "disconnect")
	w.option("after-sb-2pri", "disconnect")
	if v.Is84() { // it has no retry-connect
		w.option("rr-conflict", "disconnect")
	} else {
		w.option("rr-conflict", "retry-connect")
	}
	w.option("cram-hmac-alg", strconv.Quote(o.HMACAlg))
	w.option("shared-secret", `"`+string(c.Secret)+`"`)
	w.option("verify-alg", strconv.Quote(o.VerifyAlg))
	const tenth = time.Second / 10
	w.number("timeout", int64(o.Tuning.Timeout/tenth))
	w.number("ping-int", int64(o.Tuning.PingInterval/time.Second))
	w.number("ping-timeout", int64(o.Tuning.PingTimeout/tenth))
	w.number("connect-int", int64(o.Tuning.ConnectInterval/time.Second))
	w.close()
}

// disk has the resync options too: DRBD 9 keeps them per peer and takes
// them from here for all.
func (c Config) disk(w *writer, v Version) {
	o := c.Options
	w.open("disk")
	w.option("on-io-error", "detach")
	if c.fences(v) {
		w.option("fencing", "resource-and-stonith")
	}
	w.number("rs-discard-granularity", o.DiscardGranularity)
	if o.Tuning.ResyncRate > 0 {
		w.option("c-plan-ahead", "0")
		w.rate("resync-rate", o.Tuning.ResyncRate)
	}
	w.rate("c-max-rate", o.Tuning.MaxResyncRate)
	w.rate("c-min-rate", o.Tuning.MinResyncRate)
	w.close()
}

// fences: DRBD 9 has quorum instead, and nothing to lose is nothing to fence.
func (c Config) fences(v Version) bool {
	return v.Is84() && c.Options.FencePeer != "" && len(c.Hosts) > 1
}

func (c Config) handlers(w *writer, v Version) {
	if !c.fences(v) {
		return
	}
	w.open("handlers")
	w.option("fence-peer", strconv.Quote(c.Options.FencePeer))
	w.close()
}

func (c Config) host(w *writer, v Version, h Host) {
	w.open("on %q", h.Name)
	if v.Is84() {
		w.option("address", address(h.Addresses[0]))
	} else {
		w.option("node-id", h.NodeID.String())
	}
	for _, vol := range slices.SortedFunc(slices.Values(c.Volumes), func(a, b Volume) int { return a.Number - b.Number }) {
		w.open("volume %d", vol.Number)
		if v.Is84() {
			w.option("device", fmt.Sprintf("/dev/drbd%d minor %d", vol.Minor, vol.Minor))
		} else {
			w.option("device", "minor "+vol.Minor.String())
		}
		if disk := c.diskOf(h, vol); disk == "" {
			w.option("disk", "none")
		} else {
			w.option("disk", strconv.Quote(disk))
			w.option("meta-disk", "internal")
		}
		if h.Name != c.This && h.Kind == Access && knowsTiebreaker(v) {
			w.option("tiebreaker", "no")
		}
		w.close()
	}
	w.close()
}

// elsewhere stands for a disk of a peer, whose path means nothing here. It
// has the volume's number because drbdadm wants a host's disks to differ.
func elsewhere(v Volume) string { return "/dev/rvol/peer." + strconv.Itoa(v.Number) }

func (c Config) diskOf(h Host, v Volume) string {
	switch {
	case h.Name == c.This:
		return v.Disk
	case h.Kind == Diskful:
		return elsewhere(v)
	}
	return "" // drbdadm gives a peer without disk no bitmap
}

// knowsTiebreaker: the option came with the kernel's 9.3.1 and drbd-utils
// 9.34.0.
func knowsTiebreaker(v Version) bool {
	return v.Kernel.AtLeast(9, 3, 1) && v.Tools.AtLeast(9, 34, 0)
}

func (c Config) connection(w *writer, peer Host) {
	this := c.Hosts[slices.IndexFunc(c.Hosts, func(h Host) bool { return h.Name == c.This })]
	w.open("connection")
	for i := range this.Addresses {
		w.open("path")
		for _, h := range []Host{this, peer} {
			w.option("host", fmt.Sprintf("%q address %s", h.Name, address(h.Addresses[i])))
		}
		w.close()
	}
	if peer.Kind == Access {
		w.open("net")
		w.option("allow-remote-read", "no")
		w.close()
	}
	w.close()
}

func address(a netip.AddrPort) string {
	if a.Addr().Unmap().Is4() {
		return "ipv4 " + netip.AddrPortFrom(a.Addr().Unmap(), a.Port()).String()
	}
	return "ipv6 " + a.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orOff(n int) string {
	if n == 0 {
		return "off"
	}
	return strconv.Itoa(n)
}

// A writer writes nested sections. Whatever reaches it was validated.
type writer struct {
	text  []byte
	depth int
}

func (w *writer) line(format string, args ...any) {
	w.text = append(w.text, strings.Repeat("    ", w.depth)...)
	w.text = fmt.Appendf(w.text, format+"\n", args...)
}

func (w *writer) open(format string, args ...any) {
	w.line(format+" {", args...)
	w.depth++
}

func (w *writer) close() {
	w.depth--
	w.line("}")
}

func (w *writer) option(name, value string) { w.line("%s %s;", name, value) }

// number leaves out what is zero.
func (w *writer) number(name string, n int64) {
	if n != 0 {
		w.option(name, strconv.FormatInt(n, 10))
	}
}

// rate writes bytes per second as KiB, and leaves out what is zero.
func (w *writer) rate(name string, bytes int64) {
	if bytes != 0 {
		w.option(name, strconv.FormatInt(bytes/1024, 10)+"K")
	}
}
