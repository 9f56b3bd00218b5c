package decide

import (
	"fmt"
	"slices"

	"rvol/drbd"
)

// fullFrom is from where on a thin pool counts as full, in percent: it is where coordinators
// stop its growth unless told otherwise.
const fullFrom = 95

// full says why a thin pool takes no more data; "": it does, or the disk is on none.
func (p *planner) full(b *Backing) string {
	if b == nil || b.ThinPool == "" {
		return ""
	}
	vg, _ := p.in.Observed.vg(b.VGUUID)
	for _, pool := range vg.ThinPools {
		switch {
		case pool.Name != b.ThinPool:
		case pool.DataPercent >= fullFrom:
			return fmt.Sprintf("data of thin pool %s/%s is at %.4g %%", b.VG, b.ThinPool, pool.DataPercent)
		case pool.MetadataPercent >= fullFrom:
			return fmt.Sprintf("metadata of thin pool %s/%s is at %.4g %%", b.VG, b.ThinPool, pool.MetadataPercent)
		}
	}
	return ""
}

// detached sees to a disk that DRBD has let go of. One whose thin pool was full is none that
// failed: it is attached again when there is room, and catches up with another copy.
func (p *planner) detached(r Resource, d Device) *Refusal {
	full := p.full(d.Backing)
	switch {
	case full != "":
		return refuse(NoSpace, "disk of %s/%d was detached: %s: extend the pool; the disk is attached again when there is room", r.Name, d.Number, full)
	case !p.in.Facts.Starved[d.Number]:
		return refuse(Other, "disk of %s/%d was detached after an I/O error: see the kernel's log; `drbdadm attach` tries it again", r.Name, d.Number)
	case p.passive:
		return refuse(Other, "disk of %s/%d was detached when its thin pool was full: waiting for a coordinator before it is attached", r.Name, d.Number)
	case !p.source(r, d.Number):
		return refuse(Other, "disk of %s/%d was detached when its thin pool was full: waiting for an UpToDate copy to catch up with; if there is none, `drbdadm attach` the copy that was detached last",
			r.Name, d.Number)
	}
	p.add(Attach{Target: r.target(len(r.Peers) == 0 || !r.Member), Number: d.Number})
	return nil
}

// source says that what a disk has missed can be had from a peer, or that nobody else wrote.
func (p *planner) source(r Resource, number int) bool {
	alone := true
	for _, want := range r.Peers {
		if want.Type != Diskful && want.Type != LiminalDiskful {
			continue
		}
		alone = false
		peer, ok := p.peer(want.ID)
		if dev, has := peer.Device(number); ok && has && peer.Conn == drbd.Connected && dev.Disk == drbd.UpToDate {
			return true
		}
	}
	return alone
}

// letGo are the devices on thin pools whose disk DRBD has let go of.
func (p *planner) letGo() []Device {
	r, ok := p.in.Desired.Resource(p.key)
	if !ok || !p.isUp || !r.attaches() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Devices), func(d Device) bool {
		_, there := p.up.Device(d.Number)
		return !there || d.Backing == nil || d.Backing.ThinPool == "" || p.attached(d)
	})
}

// LetGo names the volume groups of thin volumes whose disk DRBD has let go of: how full their
// pools are tells what that means.
func LetGo(in Input, key string) []string {
	var vgs []string
	for _, d := range looker(in, key).letGo() {
		vgs = append(vgs, d.Backing.VG)
	}
	return vgs
}

// Starved are the devices of a resource whose disk DRBD let go of while its thin pool was full.
// before: those that were so when it was looked at last.
func Starved(before map[int]bool, in Input, key string) map[int]bool {
	out, p := map[int]bool{}, looker(in, key)
	for _, d := range p.letGo() {
		if before[d.Number] || p.full(d.Backing) != "" {
			out[d.Number] = true
		}
	}
	return out
}

func looker(in Input, key string) *planner {
	p := &planner{in: in, key: key}
	p.up, p.isUp = in.Observed.Resource(key)
	return p
}
