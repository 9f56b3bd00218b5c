package drbd

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// A Config is all that a node's .res file says of one resource. Every node
// has its own: it names the node's own disks and the peers it talks to.
type Config struct {
	Resource string
	This     string   // this node's host name, as uname -n gives it; one of Hosts
	Hosts    []Host   // this node and its peers; on DRBD 8.4 at most one peer
	Volumes  []Volume // this node's devices; every peer has the same numbers
	Options  Options
	Secret   Secret // authenticates the peers
}

// A Host is a node as this node's file knows it.
type Host struct {
	Name      string
	NodeID    NodeID           // not on DRBD 8.4
	Addresses []netip.AddrPort // one per network, the networks in one order on all hosts; DRBD 8.4 takes the first
	Kind      Kind             // of this node itself: see Volume.Disk
}

// Kind says what a peer holds, which decides about bitmap and tie-breaker.
type Kind int

// The kinds of replicas.
const (
	// Diskful has a disk, or will get one: it has a bitmap slot.
	Diskful Kind = iota
	// TieBreaker has none and keeps quorum.
	TieBreaker
	// Access has none and is kept out of the tie-breaker's majority.
	Access
)

// A Volume is a device of this node.
type Volume struct {
	Number int
	Minor  Minor
	Disk   string // block device with internal metadata; "": diskless
}

// NoVote is the quorum of a node that is no voting member, so that it can
// never serve I/O by itself.
const NoVote = 32

// The values of Options.OnNoQuorum.
const (
	SuspendIO = "suspend-io"
	IOError   = "io-error"
)

// Options are a resource's DRBD options as far as they vary. What does not
// is fixed in Render.
type Options struct {
	Quorum                  int    // votes needed, NoVote, or 0: off; left out on DRBD 8.4
	QuorumMinimumRedundancy int    // UpToDate disks needed, or 0: off; left out on DRBD 8.4
	OnNoQuorum              string // SuspendIO (also when empty) or IOError; left out on DRBD 8.4
	AutoPromote             bool   // left out on DRBD 8.4
	AllowTwoPrimaries       bool
	FencePeer               string // of DRBD 8.4: the command that answers when the peer is lost; until then, I/O is frozen; "": none
	HMACAlg                 string // authenticates the peers: "sha256"; frozen at creation
	VerifyAlg               string // compares blocks: "crc32c"; frozen at creation
	DiscardGranularity      int64  // bytes; of thin disks, so that a full resync keeps them thin; 0: left out
	Tuning                  Tuning
}

// Tuning are times and rates. What is zero stays at DRBD's default and is
// left out.
type Tuning struct {
	Timeout         time.Duration // of an answer to a write; tenths of a second
	PingInterval    time.Duration // of an idle connection; seconds
	PingTimeout     time.Duration // of an answer to a ping; tenths of a second
	ConnectInterval time.Duration // between tries; seconds
	ResyncRate      int64         // bytes per second, fixed: turns the rate controller off
	MaxResyncRate   int64         // bytes per second, of the rate controller
	MinResyncRate   int64         // bytes per second, left to resync beside application I/O
}

var (
	hostRE   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$`)
	algRE    = regexp.MustCompile(`^[a-z0-9()_-]{1,63}$`)
	fenceRE  = regexp.MustCompile(`^/[A-Za-z0-9/_. -]{1,255}$`)
	secretOK = regexp.MustCompile(`^[A-Za-z0-9+/=_.-]{1,63}$`)
)

// Validate says what a file could not be made of.
func (c Config) Validate(v Version) error {
	if err := checkName(c.Resource); err != nil {
		return err
	}
	if !secretOK.MatchString(string(c.Secret)) {
		return fmt.Errorf("secret of %s: %w: want 1 to 63 letters, digits and '+/=_.-'", c.Resource, ErrInvalid)
	}
	if err := c.validateHosts(v); err != nil {
		return fmt.Errorf("hosts of %s: %w", c.Resource, err)
	}
	if err := c.validateVolumes(v); err != nil {
		return fmt.Errorf("volumes of %s: %w", c.Resource, err)
	}
	if err := c.Options.validate(); err != nil {
		return fmt.Errorf("options of %s: %w", c.Resource, err)
	}
	return nil
}

func (c Config) validateHosts(v Version) error {
	if v.Is84() && len(c.Hosts) > 2 {
		return invalid("hosts", strconv.Itoa(len(c.Hosts)), "DRBD 8.4 has one peer")
	}
	names, ids := map[string]bool{}, map[NodeID]bool{}
	for _, h := range c.Hosts {
		switch {
		case names[h.Name]:
			return invalid("host", h.Name, "named twice")
		case ids[h.NodeID] && !v.Is84():
			return invalid("node-id", h.NodeID.String(), "used twice")
		case len(h.Addresses) != len(c.Hosts[0].Addresses):
			return invalid("host", h.Name, "want one address per network")
		}
		if err := h.validate(v); err != nil {
			return err
		}
		names[h.Name], ids[h.NodeID] = true, true
	}
	if !names[c.This] {
		return invalid("this host", c.This, "not among the hosts")
	}
	return nil
}

func (h Host) validate(v Version) error {
	switch {
	case !hostRE.MatchString(h.Name):
		return invalid("host", h.Name, "want a host name")
	case h.NodeID < 0 || h.NodeID > 31:
		return invalid("node-id", h.NodeID.String(), "want 0 to 31")
	case len(h.Addresses) == 0:
		return invalid("host", h.Name, "want one address per network")
	case v.Is84() && h.Kind != Diskful:
		return invalid("host", h.Name, "DRBD 8.4 has no diskless peers")
	}
	for _, a := range h.Addresses {
		if !a.IsValid() || a.Port() == 0 || a.Addr().Zone() != "" || a.Addr().IsUnspecified() {
			return invalid("address", a.String(), "want an address without zone and a port")
		}
	}
	return nil
}

func (c Config) validateVolumes(ver Version) error {
	if len(c.Volumes) == 0 {
		return invalid("volumes", "", "want at least one")
	}
	numbers, minors := map[int]bool{}, map[Minor]bool{}
	for _, v := range c.Volumes {
		switch {
		case v.Number < 0 || v.Number > 65535 || numbers[v.Number]:
			return invalid("volume", strconv.Itoa(v.Number), "want different numbers, 0 to 65535")
		case v.Minor < 0 || v.Minor >= 1<<20 || minors[v.Minor]:
			return invalid("minor", v.Minor.String(), "want different numbers, 0 to 1048575")
		}
		if v.Disk != "" || ver.Is84() { // which has no "disk none"
			if err := checkPath("disk", v.Disk); err != nil {
				return err
			}
		}
		numbers[v.Number], minors[v.Minor] = true, true
	}
	return nil
}

func (o Options) validate() error {
	switch {
	case o.Quorum < 0 || o.Quorum > NoVote:
		return invalid("quorum", strconv.Itoa(o.Quorum), "want 0 to 32")
	case o.QuorumMinimumRedundancy < 0 || o.QuorumMinimumRedundancy > NoVote:
		return invalid("quorum-minimum-redundancy", strconv.Itoa(o.QuorumMinimumRedundancy), "want 0 to 32")
	case !slices.Contains([]string{"", SuspendIO, IOError}, o.OnNoQuorum):
		return invalid("on-no-quorum", o.OnNoQuorum, "want suspend-io or io-error")
	case !algRE.MatchString(o.HMACAlg):
		return invalid("cram-hmac-alg", o.HMACAlg, "want an algorithm")
	case !algRE.MatchString(o.VerifyAlg):
		return invalid("verify-alg", o.VerifyAlg, "want an algorithm")
	case o.FencePeer != "" && !fenceRE.MatchString(o.FencePeer):
		return invalid("fence-peer", o.FencePeer, "want a path and arguments")
	case o.DiscardGranularity < 0 || o.DiscardGranularity > 1<<20:
		return invalid("rs-discard-granularity", strconv.FormatInt(o.DiscardGranularity, 10), "want 0 to 1 MiB")
	}
	return o.Tuning.validate()
}

// validate holds the numbers within the ranges of drbdsetup help.
func (t Tuning) validate() error {
	const tenth = time.Second / 10
	for _, d := range []struct {
		name  string
		value time.Duration
		unit  time.Duration
		max   int64
	}{
		{name: "timeout", value: t.Timeout, unit: tenth, max: 600},
		{name: "ping-int", value: t.PingInterval, unit: time.Second, max: 120},
		{name: "ping-timeout", value: t.PingTimeout, unit: tenth, max: 300},
		{name: "connect-int", value: t.ConnectInterval, unit: time.Second, max: 120},
	} {
		if d.value < 0 || d.value%d.unit != 0 || int64(d.value/d.unit) > d.max {
			return invalid(d.name, d.value.String(), fmt.Sprintf("want up to %d times %s", d.max, d.unit))
		}
	}
	for name, rate := range map[string]int64{
		"resync-rate": t.ResyncRate, "c-max-rate": t.MaxResyncRate, "c-min-rate": t.MinResyncRate,
	} {
		if rate < 0 || rate%1024 != 0 || rate > 4<<30 || name == "c-max-rate" && rate > 0 && rate < 250<<10 {
			return invalid(name, strconv.FormatInt(rate, 10), "want whole KiB per second, 250 KiB to 4 GiB")
		}
	}
	return nil
}
