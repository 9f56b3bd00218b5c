package transition

import (
	"fmt"
	"time"

	"rvol/coordinator/model"
)

// MakeBacking gives a replica without a disk a place for one, and waits until its node has
// made it; DropBacking gives back the place of a disk that is detached; SwapBacking puts a
// detached copy on the place that was reserved for it.
const (
	MakeBacking = "MakeBacking"
	DropBacking = "DropBacking"
	SwapBacking = "SwapBacking"
)

var makeBacking = step{name: MakeBacking, enter: wantBacking, concerns: subject, confirm: backed, slow: 2 * time.Minute}

var dropBacking = step{name: DropBacking, guards: []guard{notAttached}, enter: dropDisk}

var swapBacking = step{
	name: SwapBacking, guards: []guard{notAttached}, enter: swapDisk, concerns: subject, confirm: backed, slow: 2 * time.Minute,
}

// wantBacking makes the replica one with a disk: the scheduler then finds a place on its node.
func wantBacking(a at, d *draft) {
	r := model.Clone(a.subject().Replica)
	r.Type = model.Diskful
	r.Conditions = r.Conditions.Without("Scheduled")
	d.put = append(d.put, r)
}

// backed confirms when the volume is there.
func backed(a at, m Member) string {
	switch c, _ := m.Conditions.Get("Scheduled"); {
	case m.VG == "" && c.Message != "":
		return "its disk has no place: " + c.Message
	case m.VG == "":
		return "waiting for the scheduler"
	case m.State.Error != "":
		return m.State.Error
	}
	for _, dev := range m.Devices {
		if b := m.backing(dev.Number); b.Reservation != dev.Reservation || b.LVUUID == "" {
			return fmt.Sprintf("the volume of device %d is not made yet", dev.Number)
		}
	}
	return ""
}

// notAttached protects the copy: a disk that DRBD has is neither dropped nor swapped.
func notAttached(a at) string {
	if id := a.stored().Replica; a.part(*id) == model.Diskful {
		return fmt.Sprintf("the disk of replica %d is attached", *id)
	}
	return ""
}

func dropDisk(a at, d *draft) {
	m := a.subject()
	r := model.Clone(m.Replica)
	r.Type, r.VG, r.ThinPool = a.stored().Type, "", ""
	for i := range r.Devices {
		r.Devices[i].Reservation = ""
	}
	d.put = append(d.put, r)
	d.releaseAll(m, func(*model.Reservation) bool { return true })
}

// swapDisk lets the replica stand on what was reserved for it and nothing stands on yet.
func swapDisk(a at, d *draft) {
	m := a.subject()
	r := model.Clone(m.Replica)
	next := m.reserved()
	for i, dev := range r.Devices {
		if res := next[dev.Number]; res != nil {
			r.VG, r.ThinPool, r.Devices[i].Reservation = res.VGName, res.ThinPool, res.Name
		}
	}
	d.put = append(d.put, r)
	d.releaseAll(m, func(res *model.Reservation) bool { return next[res.Device] != nil && next[res.Device].Name != res.Name })
}

// reserved are the reservations of a replica that none of its devices stands on, by device.
func (m Member) reserved() map[int]*model.Reservation {
	used := map[string]bool{}
	for _, dev := range m.Devices {
		used[dev.Reservation] = true
	}
	out := map[int]*model.Reservation{}
	for _, res := range m.Reservations {
		if !used[res.Name] && res.State != model.Releasing {
			out[res.Device] = res
		}
	}
	return out
}

// releaseAll marks those reservations of a replica for release that are to go.
func (d *draft) releaseAll(m Member, goes func(*model.Reservation) bool) {
	for _, res := range m.Reservations {
		if res.State != model.Releasing && goes(res) {
			next := model.Clone(res)
			next.State = model.Releasing
			d.put = append(d.put, next)
		}
	}
}
