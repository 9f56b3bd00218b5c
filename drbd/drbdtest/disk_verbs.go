package drbdtest

import (
	"errors"
	"io/fs"
	"strconv"

	"rvol/drbd"
)

// onDevice is the commands that take a minor.
func (n *Node) onDevice(verb string, a arguments) error {
	minor := drbd.Minor(a.number(0))
	d := n.device(minor)
	if d == nil {
		return unknownMinor(minor)
	}
	switch verb {
	case "new-current-uuid":
		return d.newCurrentUUID(a)
	case "attach":
		return d.attach(a)
	case "detach":
		return d.detach(a)
	case "resize":
		return d.resizeAll(a)
	case "check-resize":
		n.lkbd[minor] = d.mdSize
		return nil
	case "invalidate":
		return d.invalidate(a)
	case "outdate":
		return d.outdate()
	case "resume-io": // what quorum has frozen stays so
		d.res.thaw()
		return nil
	case "disk-options":
		d.opts = a.over(d.opts)
		return nil
	case "verify":
		return d.res.verify(d.res.conns[0], d.volume, minor, a)
	}
	return d.delMinor()
}

// newCurrentUUID is formation's last step. Without a connection DRBD 9 obeys
// too, and makes this disk UpToDate alone.
func (d *device) newCurrentUUID(a arguments) error {
	if err := a.only("new-current-uuid", d.res.initialSyncs()...); err != nil {
		return err
	}
	if d.md == nil {
		return failed(d.minor, 138, "Device does not have a disk")
	}
	connected, standAlone := d.res.connection()
	switch initial := len(a.options) > 0 && d.fresh(); {
	case d.res.is84() && standAlone: // a new generation, and the disk stays what it is
		d.rotate()
	case initial && (connected || !d.res.is84()):
		d.begin(a.options["clear-bitmap"] == "yes")
	case !standAlone || d.state != drbd.UpToDate:
		return failed(d.minor, 151, "Need to be StandAlone")
	default:
		d.rotate()
	}
	return nil
}

// initialSyncs are the options of new-current-uuid.
func (r *resource) initialSyncs() []string {
	if r.is84() {
		return []string{"clear-bitmap"}
	}
	return []string{"clear-bitmap", "force-resync"}
}

// connection says that all peers are connected, or none is tried.
func (r *resource) connection() (connected, standAlone bool) {
	connected, standAlone = true, true
	for _, c := range r.conns {
		connected = connected && c.state == drbd.Connected
		standAlone = standAlone && c.state == drbd.StandAlone
	}
	return connected, standAlone
}

// begin makes the first generation, on this disk and those of connected
// peers that are just created too: equal, or to be copied to.
func (d *device) begin(equal bool) {
	d.md.Current = d.res.node.fabric.newUUID()
	d.setState(drbd.UpToDate)
	for _, c := range d.res.connections() {
		if p := c.devs[d.volume]; p != nil && p.slot() != nil {
			p.begin(equal)
		}
	}
	d.save()
	d.res.recountAll()
}

func (p *peerDev) begin(equal bool) {
	if equal {
		p.slot().OutOfSync, p.slot().Bitmap = nil, 0
	}
	r := p.remote()
	if r == nil || r.md == nil || !r.fresh() || p.conn.broken() {
		return
	}
	if !equal {
		p.startResync(true)
		return
	}
	r.md.Current = p.device().md.Current
	for _, s := range r.md.Peers {
		s.OutOfSync, s.Bitmap = nil, 0
	}
	r.setState(drbd.UpToDate)
}

// attach MINOR DISK DISK internal.
func (d *device) attach(a arguments) error {
	if d.md != nil {
		return failed(d.minor, 124, "Device is attached to a disk (use detach first)")
	}
	path := a.word(1)
	disk, err := d.res.node.disks.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(20, "Can not open device '%s': No such file or directory", path)
	case err != nil:
		return refuse(20, "Can not open device '%s': %v", path, err)
	}
	md, err := loadMetadata(disk, disk.Size())
	if err != nil {
		_ = disk.Close()
		return failed(d.minor, 119, "No valid meta-data signature found.")
	}
	usable := md.usable(disk.Size())
	if usable < md.Size || usable <= 0 {
		_ = disk.Close()
		return failed(d.minor, 111, "Low.dev. smaller than requested DRBD-dev. size.")
	}
	d.path, d.disk, d.md, d.mdSize, d.opts, d.client = path, disk, md, disk.Size(), a.options, false
	d.res.node.lkbd[d.minor] = disk.Size()
	d.held = 0
	if d.size = md.Size; d.size == 0 {
		d.size, md.Size = usable, usable
	}
	d.state = drbd.Attaching
	d.res.publish()
	d.recover()
	return nil
}

// recover takes over what the metadata says, after a crash of a Primary with
// the areas of its activity log out of sync, and meets connected peers.
func (d *device) recover() {
	md := d.md
	for _, c := range d.res.conns {
		if p := c.devs[d.volume]; p != nil {
			p.slot() // every peer with a bitmap has a slot from now on
		}
	}
	if md.Primary && d.res.role == drbd.Secondary {
		md.Crashed, md.Primary = true, false
		for _, s := range md.Peers {
			s.OutOfSync = s.OutOfSync.union(md.Hot)
		}
	}
	md.Hot = nil
	md.Primary = d.res.role == drbd.Primary
	d.setState(d.afterAttach())
	d.res.recount()
	for _, c := range d.res.connections() {
		p := c.devs[d.volume]
		if c.state != drbd.Connected || p == nil || p.remote() == nil {
			continue
		}
		if p.slot() != nil {
			p.meet(p.compare())
		}
		c.other.res.recount()
		c.other.res.publish()
	}
}

// detach leaves the device Diskless, when the data is within reach.
func (d *device) detach(a arguments) error {
	if err := a.only("detach", "diskless"); err != nil {
		return err
	}
	if d.md == nil {
		return nil
	}
	if d.res.role == drbd.Primary {
		keep := d.state
		d.state = drbd.Failed
		other := d.data()
		d.state = keep
		if other == nil {
			return changed(d.minor, 17, -2, "Need access to UpToDate data")
		}
	}
	d.client = a.options["diskless"] != ""
	d.letGo()
	return nil
}

// letGo takes the disk away.
func (d *device) letGo() {
	if d.md == nil {
		return
	}
	d.md.Primary, d.md.Hot = false, nil
	d.stopResyncs()
	d.save()
	d.md = nil
	d.closeDisk()
	d.setState(drbd.Detaching)
	if d.res.is84() {
		d.setState(drbd.Failed)
	}
	d.res.publish()
	d.setState(drbd.Diskless)
	d.res.recountAll()
}

// resizeAll grows a device to the smallest of its disks and copies what is
// new, from here.
func (d *device) resizeAll(a arguments) error {
	held, roomy, err := d.holds(a)
	if err != nil {
		return err
	}
	if d.md == nil {
		return failed(d.minor, 138, "Device does not have a disk")
	}
	parts, busy := d.parts()
	if busy {
		return failed(d.minor, 130, "Resize not allowed during resync.")
	}
	size := int64(1) << 62
	for _, part := range parts {
		if part.md != nil {
			size = min(size, part.md.usable(part.disk.Size()))
		}
	}
	if held != 0 {
		size = min(size, held)
	} else if len(parts) == 1 && d.res.is84() && !roomy { // who is alone keeps what was agreed on
		size = min(size, d.size)
	}
	old := d.size
	for _, part := range parts {
		old = min(old, part.size)
		part.held = held
		part.moveTo(size)
		part.res.publish()
	}
	if size > old {
		d.copyGrowth(Extent{Off: old, Len: size - old})
	}
	return nil
}

// holds is the size that resize is given, in bytes; 0: none. It never makes a device smaller here: nothing of ours may ask for that.
// Whoever has no peer says that it has the space.
func (d *device) holds(a arguments) (size int64, roomy bool, err error) {
	if !d.res.is84() {
		return 0, false, a.only("resize")
	}
	if err := a.only("resize", "size", "assume-peer-has-space"); err != nil || a.options["size"] == "" {
		return 0, a.options["assume-peer-has-space"] != "", err
	}
	size, err = parseRate(a.options["size"])
	if err == nil && size < d.size {
		err = refuse(20, "it would make the device smaller")
	}
	return size, false, err
}

// parts are this device and those of the connected peers; busy when one of
// them is being copied.
func (d *device) parts() (all []*device, busy bool) {
	all = []*device{d}
	for _, c := range d.res.connections() {
		p := c.devs[d.volume]
		if p == nil {
			continue
		}
		busy = busy || p.repl.Resyncing()
		if r := p.remote(); r != nil {
			all = append(all, r)
		}
	}
	return all, busy
}

// moveTo sets the size and puts the metadata to the end of the disk as it is
// now.
func (d *device) moveTo(size int64) {
	if d.md != nil && d.disk.Size() != d.mdSize {
		if err := wipeMetadata(d.disk, d.mdSize); err != nil {
			d.fail()
			return
		}
		d.mdSize = d.disk.Size()
	}
	d.resize(size)
}

func (d *device) copyGrowth(e Extent) {
	for _, c := range d.res.connections() {
		p := c.devs[d.volume]
		if p == nil || p.slot() == nil {
			continue
		}
		p.slot().OutOfSync = p.slot().OutOfSync.add(e)
		if o := p.other(); o != nil && o.slot() != nil {
			p.startResync(false)
			c.other.res.publish()
		}
	}
	d.save()
}

// invalidate copies from a peer: everything, or with --reset-bitmap=no what
// is known to differ.
func (d *device) invalidate(a arguments) error {
	known := []string{"sync-from-peer-node-id", "reset-bitmap"}
	if d.res.is84() {
		known = nil
	}
	if err := a.only("invalidate", known...); err != nil {
		return err
	}
	if d.md == nil || d.syncing() {
		return refuse(11, "")
	}
	from := d.sources(a.options["sync-from-peer-node-id"])
	for _, p := range from { // one gives the data and the others wait
		p.startResync(a.options["reset-bitmap"] != "no")
		p.conn.res.publish()
	}
	if len(from) == 0 {
		return changed(d.minor, 17, -2, "Need access to UpToDate data")
	}
	return nil
}

// sources are the ends of peers that have all data: of one by its id, or of any.
func (d *device) sources(id string) (all []*peerDev) {
	for _, c := range d.res.connections() {
		p := c.devs[d.volume]
		if id != "" && id != strconv.Itoa(int(c.id)) || p == nil || c.broken() {
			continue
		}
		if r := p.remote(); r != nil && r.state == drbd.UpToDate {
			all = append(all, p.other())
		}
	}
	return all
}

// outdate marks the disk of a Secondary that knows of no UpToDate peer.
func (d *device) outdate() error {
	if d.res.role == drbd.Primary || d.md == nil {
		return refuse(11, "")
	}
	if d.state == drbd.UpToDate || d.state == drbd.Consistent {
		d.setState(drbd.Outdated)
	}
	return nil
}

func (d *device) delMinor() error {
	if d.md != nil || len(d.openers) > 0 {
		return failed(d.minor, 160, "Minor still configured (down it first)")
	}
	delete(d.res.devs, d.volume)
	for _, c := range d.res.conns {
		delete(c.devs, d.volume)
	}
	return nil
}
