package decide

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"rvol/drbd"
)

// An Owner is what the first line of a .res file says: whose it is.
type Owner struct {
	Replica      string // uid
	Reservations []string
	Peers        int
	Quorum       int
}

const ownerLine = "# rvol replica="

// OwnerOf reads the first line of a .res file of ours. A file without it, or
// an empty one, has no owner.
func OwnerOf(text string) (Owner, bool) {
	line, _, _ := strings.Cut(text, "\n")
	rest, ok := strings.CutPrefix(line, ownerLine)
	if !ok {
		return Owner{}, false
	}
	var o Owner
	words := strings.Fields(rest)
	for i, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch {
		case i == 0:
			o.Replica = w
		case key == "reservations" && value != "":
			o.Reservations = strings.Split(value, ",")
		case key == "peers":
			o.Peers, _ = strconv.Atoi(value) // our own line; 0 when torn
		case key == "quorum":
			o.Quorum, _ = strconv.Atoi(value) // likewise
		}
	}
	return o, o.Replica != ""
}

// File renders the .res file that a resource shall have on a node with the
// given version of DRBD.
func (r Resource) File(v drbd.Version) (string, error) { return r.file(v, 0) }

// file is the same with a quorum of at least so many.
func (r Resource) file(v drbd.Version, quorum int) (string, error) {
	c, err := r.config(v)
	if err != nil {
		return "", err
	}
	c.Options.Quorum = max(c.Options.Quorum, quorum)
	body, err := c.Render(v)
	if err != nil {
		return "", err
	}
	var reservations []string
	for _, d := range r.Devices {
		if d.Backing != nil {
			reservations = append(reservations, d.Backing.Reservation)
		}
	}
	head := fmt.Sprintf("%s%s reservations=%s peers=%d", ownerLine, r.ReplicaUID, strings.Join(reservations, ","), len(r.Peers))
	if c.Options.Quorum > 0 {
		head += fmt.Sprintf(" quorum=%d", c.Options.Quorum)
	}
	if len(r.Forget) > 0 && r.attaches() {
		head += " forget=" + strings.Join(r.forgets(), ",")
	}
	return head + "\n" + string(body), nil
}

func (r Resource) forgets() []string {
	var ids []string
	for _, id := range r.Forget {
		ids = append(ids, id.String())
	}
	return ids
}

// attaches says that DRBD is to have the disks of the replica's devices. Others
// have theirs prepared at most.
func (r Resource) attaches() bool { return r.Type == Diskful }

// notAMember stands for the secret of a replica that has no peers yet.
const notAMember = drbd.Secret("preconfigured")

func (r Resource) config(v drbd.Version) (drbd.Config, error) {
	networks := slices.Sorted(maps.Keys(r.Addresses))
	options, err := r.options()
	if err != nil {
		return drbd.Config{}, err
	}
	c := drbd.Config{Resource: r.Name, This: r.HostName, Options: options, Secret: r.Secret}
	if !r.Member {
		c.Secret = notAMember
	}
	self := Peer{ID: r.ReplicaID, Type: r.Type, HostName: r.HostName, Port: r.Port, Addresses: r.Addresses}
	hosts := []Peer{self}
	if r.Member {
		hosts = append(hosts, r.Peers...)
	}
	slices.SortFunc(hosts, func(a, b Peer) int { return cmp.Compare(a.ID, b.ID) })
	for _, p := range hosts {
		h, err := host(p, networks)
		if err != nil {
			return drbd.Config{}, err
		}
		if v.Is84() {
			h.NodeID = 0 // ids of two replicas may be any; 8.4 has none
		}
		c.Hosts = append(c.Hosts, h)
	}
	for _, d := range r.Devices {
		vol := drbd.Volume{Number: d.Number, Minor: d.Minor}
		if d.Backing != nil && r.attaches() {
			vol.Disk = LV{VG: d.Backing.VG, Name: d.Backing.LV}.Path()
		}
		c.Volumes = append(c.Volumes, vol)
	}
	return c, nil
}

func host(p Peer, networks []string) (drbd.Host, error) {
	h := drbd.Host{Name: p.HostName, NodeID: p.ID, Kind: kindOf(p.Type)}
	for _, network := range networks {
		text, ok := p.Addresses[network]
		if !ok {
			return drbd.Host{}, fmt.Errorf("host %s has no address on network %s", p.HostName, network)
		}
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return drbd.Host{}, fmt.Errorf("address of host %s: %w", p.HostName, err)
		}
		h.Addresses = append(h.Addresses, netip.AddrPortFrom(addr, uint16(p.Port)))
	}
	return h, nil
}

func kindOf(t ReplicaType) drbd.Kind {
	switch t {
	case TieBreaker:
		return drbd.TieBreaker
	case Access:
		return drbd.Access
	case Diskful, LiminalDiskful:
	}
	return drbd.Diskful
}

// fenceHandler is what DRBD 8.4 runs, on a frozen Primary or before a
// promotion, when the peer is lost.
const fenceHandler = "/usr/bin/rvol-agent fence-peer"

// thinGranularity keeps thin disks thin through a full resync.
const thinGranularity = 64 << 10

func (r Resource) options() (drbd.Options, error) {
	o := drbd.Options{
		Quorum: r.Quorum, QuorumMinimumRedundancy: r.QuorumMinimumRedundancy, OnNoQuorum: r.OnNoQuorum,
		AllowTwoPrimaries: r.TwoPrimaries, HMACAlg: "sha256", VerifyAlg: "crc32c",
	}
	if r.Arbitrated() {
		o.FencePeer = fenceHandler
	}
	switch {
	case !r.Member:
		o.Quorum, o.QuorumMinimumRedundancy = drbd.NoVote, 0
	case !r.attaches() && r.Quorum > 0:
		// What has no disk does not count votes: it has quorum when those do
		// who have disks.
		o.Quorum = drbd.NoVote
	}
	for _, d := range r.Devices {
		if d.Backing != nil && d.Backing.ThinPool != "" {
			o.DiscardGranularity = thinGranularity
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Options)) {
		if err := setOption(&o, name, r.Options[name]); err != nil {
			return drbd.Options{}, fmt.Errorf("option %s %q: %w", name, r.Options[name], err)
		}
	}
	return o, nil
}

// setOption understands the tuning options by their DRBD names and in DRBD's
// units.
func setOption(o *drbd.Options, name, value string) error {
	t := &o.Tuning
	const tenth = time.Second / 10
	for _, d := range []struct {
		name string
		into *time.Duration
		unit time.Duration
	}{
		{"timeout", &t.Timeout, tenth},
		{"ping-timeout", &t.PingTimeout, tenth},
		{"ping-int", &t.PingInterval, time.Second},
		{"connect-int", &t.ConnectInterval, time.Second},
	} {
		if d.name == name {
			n, err := strconv.ParseUint(value, 10, 16)
			*d.into = time.Duration(n) * d.unit
			return err
		}
	}
	rates := map[string]*int64{"resync-rate": &t.ResyncRate, "c-max-rate": &t.MaxResyncRate, "c-min-rate": &t.MinResyncRate}
	if into, ok := rates[name]; ok {
		n, err := rate(value)
		*into = n
		return err
	}
	switch {
	case name == "c-plan-ahead" && value == "0": // goes with resync-rate
	case name == "verify-alg":
		o.VerifyAlg = value
	case name == "cram-hmac-alg":
		o.HMACAlg = value
	default:
		return errors.New("not possible with this agent")
	}
	return nil
}

// rate reads KiB per second, or with one of the suffixes K, M, G.
func rate(value string) (int64, error) {
	unit := int64(1 << 10)
	digits := strings.TrimRight(value, "kKmMgG")
	switch strings.ToUpper(value[len(digits):]) {
	case "", "K":
	case "M":
		unit = 1 << 20
	case "G":
		unit = 1 << 30
	default:
		return 0, fmt.Errorf("want a number with K, M or G")
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	return int64(n) * unit, err
}

// DeviceUUID binds the disk of a device to its replica.
func (r Resource) DeviceUUID(number int) drbd.UUID {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d", r.ReplicaUID, number) // never fails
	return drbd.UUID(h.Sum64() | 1)                      // never zero
}

// target names the resource to the tools, as its file stands or will stand.
func (r Resource) target(alone bool) Target {
	t := Target{Resource: r.Name, Alone: alone}
	for _, d := range r.Devices {
		t.Minors = append(t.Minors, d.Minor)
	}
	return t
}
