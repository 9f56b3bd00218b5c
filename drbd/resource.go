package drbd

import (
	"math"
	"slices"
)

// Resource is what one node knows of one resource.
type Resource struct {
	Name            string
	NodeID          NodeID // NoNode on DRBD 8.4
	Role            Role
	Suspended       Suspended
	ForceIOFailures bool     // demoted by force: openers get I/O errors until they close
	Devices         []Device // by volume number
	Peers           []Peer   // by node-id; on DRBD 8.4 none while StandAlone
}

// Suspended says why I/O on a resource is frozen. DRBD 8.4 does not tell
// NoData from Fencing in every version; it never says Quorum.
type Suspended struct {
	User, NoData, Fencing, Quorum bool
}

// Any says that I/O is frozen.
func (s Suspended) Any() bool { return s.User || s.NoData || s.Fencing || s.Quorum }

// Device is one volume of a resource on this node.
type Device struct {
	Volume     int
	Minor      Minor
	Disk       DiskState
	BackingDev string // of DRBD 9's events2 only; "" without one or where not said
	Client     bool   // diskless on purpose
	Quorum     bool   // always true on DRBD 8.4, which has no quorum
	Open       Answer // said by drbd-utils 9.34 and later
	Pending    int64  // reads and writes that have not returned; said by events2
	Size       int64  // bytes usable; 0 before the first attach or connect
}

// Peer is one connection of a resource.
type Peer struct {
	Name    string // host name; "peer" on DRBD 8.4, which does not know it
	NodeID  NodeID // 0 on DRBD 8.4 and without meaning there
	Conn    ConnState
	Role    Role
	Devices []PeerDevice // by volume number
}

// PeerDevice is one volume of a resource as it stands with one peer.
type PeerDevice struct {
	Volume          int
	Repl            ReplState
	Disk            DiskState
	Client          bool    // diskless on purpose; DRBD 9
	ResyncSuspended string  // "no", or who holds the resync back: user, peer, dependency
	OutOfSync       int64   // bytes
	Done            float64 // percent in sync; of what is being compared: percent compared, or Untold
}

// Device gives the device of a volume.
func (r *Resource) Device(volume int) (Device, bool) {
	i := slices.IndexFunc(r.Devices, func(d Device) bool { return d.Volume == volume })
	if i < 0 {
		return Device{}, false
	}
	return r.Devices[i], true
}

// Peer gives the connection to a node. On DRBD 8.4 ask for node 0.
func (r *Resource) Peer(id NodeID) (Peer, bool) {
	i := slices.IndexFunc(r.Peers, func(p Peer) bool { return p.NodeID == id })
	if i < 0 {
		return Peer{}, false
	}
	return r.Peers[i], true
}

// Device gives the peer's side of a volume.
func (p *Peer) Device(volume int) (PeerDevice, bool) {
	i := slices.IndexFunc(p.Devices, func(d PeerDevice) bool { return d.Volume == volume })
	if i < 0 {
		return PeerDevice{}, false
	}
	return p.Devices[i], true
}

// Clone copies a resource with all its parts.
func (r *Resource) Clone() Resource {
	c := *r
	c.Devices = slices.Clone(r.Devices)
	c.Peers = slices.Clone(r.Peers)
	for i := range c.Peers {
		c.Peers[i].Devices = slices.Clone(r.Peers[i].Devices)
	}
	return c
}

// settle puts the parts of a resource in order and computes Done, which the
// tools print in some states and formats only. How much was compared cannot be computed.
func (r *Resource) settle() {
	slices.SortFunc(r.Devices, func(a, b Device) int { return a.Volume - b.Volume })
	slices.SortFunc(r.Peers, func(a, b Peer) int { return int(a.NodeID - b.NodeID) })
	for i := range r.Peers {
		ds := r.Peers[i].Devices
		slices.SortFunc(ds, func(a, b PeerDevice) int { return a.Volume - b.Volume })
		for j := range ds {
			if d, _ := r.Device(ds[j].Volume); !ds[j].Repl.Comparing() {
				ds[j].Done = percentDone(d.Size, ds[j].OutOfSync)
			}
		}
	}
}

// percentDone is the part of size that is in sync, in hundredths of a
// percent rounded down, so that 100 means all of it.
func percentDone(size, outOfSync int64) float64 {
	switch {
	case outOfSync <= 0:
		return 100
	case size <= 0 || outOfSync >= size:
		return 0
	}
	return math.Floor(10000*float64(size-outOfSync)/float64(size)) / 100
}
