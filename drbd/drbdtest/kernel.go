package drbdtest

import (
	"maps"
	"slices"

	"rvol/drbd"
)

// resource is a resource that is up on a node.
type resource struct {
	node  *Node
	name  string
	id    drbd.NodeID // NoNode on DRBD 8.4
	opts  map[string]string
	role  drbd.Role
	devs  map[int]*device
	conns map[drbd.NodeID]*conn // DRBD 8.4: one, as 0

	frozenIO bool // by fencing: the peer is lost and not known to be outdated
}

// device is a volume of a resource.
type device struct {
	res     *resource
	volume  int
	minor   drbd.Minor
	state   drbd.DiskState
	path    string
	disk    Disk
	mdSize  int64 // size of the disk that the metadata's place belongs to
	md      *metadata
	opts    map[string]string
	size    int64 // bytes
	held    int64 // DRBD 8.4: bytes that resize --size has set, which it does not grow over; 0: none
	jammed  bool  // DRBD 8.4: the exchange of bitmaps has failed while it was written; only a reboot ends that
	client  bool
	quorum  bool
	present int // voters, when quorum was counted
	openers []opener
	delayed bool     // a new generation is due when I/O goes on alone
	writing int      // writes that have not returned
	unsent  []Extent // written here while I/O was frozen, and given up by the writer
}

// conn is a connection to one peer.
type conn struct {
	res         *resource
	id          drbd.NodeID
	name        string
	net         map[string]string
	paths       [][2]string // local, peer
	state       drbd.ConnState
	role        drbd.Role // of the peer
	devs        map[int]*peerDev
	other       *conn // the peer's end, while Connected
	discard     bool  // connect --discard-my-data: this end's changes are given up
	established int   // how often it was made
	generation  int   // of this attempt or connection; timers of older ones do nothing
}

// peerDev is a volume as it stands with one peer.
type peerDev struct {
	conn      *conn
	volume    int
	repl      drbd.ReplState
	disk      drbd.DiskState
	client    bool
	opts      map[string]string
	suspended string         // of the resync: no, dependency, peer
	total     int64          // bytes the resync began with
	whole     bool           // the resync is of everything
	compared  func() float64 // percent; of the comparison that runs
	paused    bool           // resyncs, by pause-sync
	unaware   bool           // DRBD 8.4: the source of a resync that is over, and nobody has told it
}

func (r *resource) is84() bool { return r.node.version.Is84() }

// devices gives the devices by volume number.
func (r *resource) devices() []*device {
	var all []*device
	for _, v := range slices.Sorted(maps.Keys(r.devs)) {
		all = append(all, r.devs[v])
	}
	return all
}

// connections gives the connections by node-id.
func (r *resource) connections() []*conn {
	var all []*conn
	for _, id := range slices.Sorted(maps.Keys(r.conns)) {
		all = append(all, r.conns[id])
	}
	return all
}

// devices gives the peer's devices by volume number.
func (c *conn) devices() []*peerDev {
	var all []*peerDev
	for _, v := range slices.Sorted(maps.Keys(c.devs)) {
		all = append(all, c.devs[v])
	}
	return all
}

// device gives the local side of a peer's device; nil while there is none.
func (p *peerDev) device() *device { return p.conn.res.devs[p.volume] }

// other gives the same volume on the peer, as the peer sees this node.
func (p *peerDev) other() *peerDev {
	if p.conn.other == nil {
		return nil
	}
	return p.conn.other.devs[p.volume]
}

// remote gives the peer's own device.
func (p *peerDev) remote() *device {
	if p.conn.other == nil {
		return nil
	}
	return p.conn.other.res.devs[p.volume]
}

// slot gives the bitmap slot; nil when there is no disk, or the peer has
// none by intent.
func (p *peerDev) slot() *peerMD {
	d := p.device()
	if d == nil || d.md == nil || p.opts["bitmap"] == "no" {
		return nil
	}
	return d.md.peer(p.conn.id)
}

func (p *peerDev) outOfSync() extents {
	if s := p.slot(); s != nil {
		return s.OutOfSync
	}
	return nil
}

// hasDisk says that the device can be read and written, if not everywhere.
func (d *device) hasDisk() bool {
	return d.state == drbd.UpToDate || d.state == drbd.Consistent ||
		d.state == drbd.Outdated || d.state == drbd.Inconsistent
}

// setState changes the disk state and what the metadata says of it.
func (d *device) setState(s drbd.DiskState) {
	d.state = s
	if d.md != nil {
		if s == drbd.UpToDate || s == drbd.Inconsistent || s == drbd.Outdated {
			d.md.State = s
		}
		d.save()
	}
	for _, c := range d.res.connections() {
		if o := c.other; o != nil && o.devs[d.volume] != nil {
			o.devs[d.volume].disk = s
			if other := o.devs[d.volume].device(); other != nil && o.res.is84() {
				other.save()
			}
		}
	}
}

// save writes the metadata; a disk that fails is detached.
func (d *device) save() {
	if d.md == nil || d.disk == nil {
		return
	}
	if c := d.res.conns[0]; d.res.is84() && c != nil && c.devs[d.volume] != nil {
		peer := c.devs[d.volume].disk
		d.md.PeerOutdated = peer == drbd.Outdated || peer == drbd.Inconsistent
	}
	if err := d.md.save(d.disk, d.mdSize); err != nil {
		d.fail()
	}
}

// fail is on-io-error detach.
func (d *device) fail() {
	d.md = nil
	d.closeDisk()
	d.stopResyncs()
	d.setState(drbd.Failed)
	d.res.publish()
	d.setState(drbd.Diskless)
	d.res.recount()
}

func (d *device) closeDisk() {
	if d.disk != nil {
		_ = d.disk.Close()
		d.disk = nil
	}
	d.path = ""
}

// rotate begins a new generation: the data here is about to differ from that
// of the peers that are not in sync.
func (d *device) rotate() {
	uuid := d.res.node.fabric.newUUID()
	old := d.md.Current
	together := []*device{d}
	for _, c := range d.res.connections() {
		p := c.devs[d.volume]
		if p != nil && p.remote() != nil && p.remote().md != nil && p.remote().state == drbd.UpToDate {
			together = append(together, p.remote())
		}
	}
	for _, e := range together {
		e.md.Current = uuid
		for id, slot := range e.md.Peers {
			if slot.Bitmap == 0 && (!e.inSyncWith(id) || e.leavesBehind(id, together)) {
				slot.Bitmap = old
			}
		}
		e.md.remember(old)
		e.save()
	}
	d.outdateOthers(together)
}

// leavesBehind says that a generation begins without a peer that is connected here: it does
// not hear the Primary. DRBD 9 calls it a weak node.
func (d *device) leavesBehind(id drbd.NodeID, together []*device) bool {
	return !d.res.is84() && !slices.ContainsFunc(together, func(o *device) bool { return o.res.id == id })
}

// outdateOthers tells nodes that are reached through others only that a generation
// began without them.
func (d *device) outdateOthers(together []*device) {
	if d.res.is84() {
		return
	}
	for _, r := range d.res.within() {
		e := r.devs[d.volume]
		if c := d.res.conns[r.id]; c != nil && c.state == drbd.Connected {
			continue
		}
		if e != nil && !slices.Contains(together, e) && (e.state == drbd.UpToDate || e.state == drbd.Consistent) {
			e.setState(drbd.Outdated)
			r.publish()
		}
	}
}

// inSyncWith says that a peer takes part in every write.
func (d *device) inSyncWith(id drbd.NodeID) bool {
	c := d.res.conns[id]
	return c != nil && c.devs[d.volume] != nil && c.devs[d.volume].remote() != nil &&
		c.devs[d.volume].remote().md != nil && c.devs[d.volume].remote().state == drbd.UpToDate
}

// remember puts a generation into the history.
func (m *metadata) remember(u drbd.UUID) {
	const kept = 16
	if u != 0 && u != drbd.JustCreated && !slices.Contains(m.History, u) {
		m.History = append([]drbd.UUID{u}, m.History...)
		m.History = m.History[:min(len(m.History), kept)]
	}
}
