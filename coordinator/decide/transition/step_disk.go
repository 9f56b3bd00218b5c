package transition

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// AttachDisk gives a member that votes its disk, which its peers begin to fill; Synchronize
// waits until it is UpToDate; DetachDisk takes a disk away, so that from then on nobody
// counts on what it holds.
const (
	AttachDisk  = "AttachDisk"
	Synchronize = "Synchronize"
	DetachDisk  = "DetachDisk"
)

var attachDisk = step{
	name: AttachDisk, guards: []guard{connectedSubject, resyncSlots}, enter: attach,
	concerns: subject, confirm: attached, slow: time.Minute,
}

var synchronize = step{name: Synchronize, concerns: subject, confirm: upToDate}

var detachDisk = step{
	name: DetachDisk, guards: []guard{diskNotInUse, noResyncFrom, enoughCopies}, enter: detach,
	concerns: everybody, confirm: detached, slow: time.Minute,
}

// resyncSlots protects the nodes' users from more copying at a time than the disks bear.
func resyncSlots(a at) string {
	m := a.subject()
	if a.MaxResyncs == 0 || m.Type != model.Diskful {
		return ""
	}
	for _, o := range append(a.disks(m.ID), m) {
		if n := a.Resyncs[o.Node]; n >= a.MaxResyncs {
			return fmt.Sprintf("node %s takes part in %d resyncs, %d at a time are allowed: this one waits its turn", o.Node, n, a.MaxResyncs)
		}
	}
	return ""
}

// Resyncing says whether a volume's transition has a copy being filled: it counts on the
// nodes of all its copies.
func Resyncing(vs *model.VolumeStatus) bool {
	for i := range vs.Transitions {
		t := &vs.Transitions[i]
		if k := t.Active(); k >= 0 {
			s := t.Steps[k]
			if s.Name == AttachDisk || s.Name == Synchronize || s.Name == JoinMesh && s.Type == model.Diskful {
				return true
			}
		}
	}
	return false
}

// enoughCopies protects the data: the copies that stay must be UpToDate, and as many as the
// volume guarantees. Without it a write that is on this copy alone would be lost with it.
func enoughCopies(a at) string { return tooFewCopies(a.Input, *a.stored().Replica) }

// tooFewCopies says why what stays without a member is less than the volume guarantees.
func tooFewCopies(in Input, id int) string {
	good, bad := 0, ""
	for _, m := range in.disks(id) {
		switch why := cmp.Or(illDisk(m), overtaken(in, m)); {
		case why == "":
			good++
		case bad == "":
			bad = fmt.Sprintf(" (replica %s: %s)", name(m), why)
		}
	}
	if need := max(1, in.Status.Datamesh.QuorumMinimumRedundancy); good < need {
		return fmt.Sprintf("without replica %d there are %d UpToDate copies, %d are needed%s", id, good, need, bad)
	}
	return ""
}

// overtaken says why others may have gone on without a member, so that what was written last
// is not on its disk, whatever that calls itself: a node that was away comes back UpToDate.
func overtaken(in Input, m Member) string {
	mesh := in.Status.Datamesh
	if r := in.Status.Recovered; r != nil && *r == m.ID {
		return "" // somebody said so, knowing what is lost
	}
	if in.old84() {
		if sole := in.Status.Sole; sole != nil && *sole != m.ID {
			return fmt.Sprintf("replica %d went on alone", *sole)
		}
		return ""
	}
	if mesh.Quorum == 0 || m.quorate() {
		return ""
	}
	absent := in.absent(m)
	if absent >= mesh.Quorum || in.hasTieBreaker() && absent*2 == mesh.Voters() {
		return "it has no quorum: others may have gone on without it"
	}
	return ""
}

// absent are the votes that a member is not connected with.
func (in Input) absent(m Member) int {
	n := 0
	for _, o := range in.mesh() {
		votes := in.part(o.ID) == model.Diskful || in.part(o.ID) == model.LiminalDiskful
		n += b01(votes && o.ID != m.ID && m.connection(o.ID) != drbd.Connected)
	}
	return n
}

func (in Input) hasTieBreaker() bool {
	return slices.ContainsFunc(in.Status.Datamesh.Members, func(m model.DatameshMember) bool { return m.Type == model.TieBreaker })
}

// quorate says that the member's partition has quorum.
func (m Member) quorate() bool {
	return m.Up && !slices.ContainsFunc(m.Resource.Devices, func(d inventory.Device) bool { return !d.Quorum })
}

// diskNotInUse protects who uses the volume on that node, unless DRBD has let go of the disk
// already: then it is used over the network, and goes on.
func diskNotInUse(a at) string {
	if a.subject().diskLost() {
		return ""
	}
	return notInUse(a)
}

// diskLost says that DRBD is up and has no disk any more.
func (m Member) diskLost() bool {
	disk := m.Resource.Disk()
	return m.Known && m.Up && (disk == drbd.Diskless || disk == drbd.Failed)
}

// noResyncFrom protects a copy that is being filled: its source may be this one.
func noResyncFrom(a at) string {
	m := a.subject()
	for _, p := range m.Resource.Peers {
		for _, d := range p.Devices {
			if d.Replication == drbd.SyncSource || d.Replication == drbd.PausedSyncS {
				return fmt.Sprintf("replica %s is being copied from: waiting until that is over", name(m))
			}
		}
	}
	return ""
}

func attach(a at, d *draft) {
	d.become(*a.stored().Replica, model.Diskful)
	d.revise()
}

func detach(a at, d *draft) {
	d.become(*a.stored().Replica, model.LiminalDiskful)
	d.revise()
}

// attached confirms when the kernel has the disk.
func attached(a at, m Member) string {
	if why := applied(a, m); why != "" {
		return why
	}
	if disk := m.Resource.Disk(); disk == drbd.Diskless || disk == drbd.Failed {
		return "its disk is not attached yet"
	}
	return ""
}

// upToDate confirms when the copy is complete.
func upToDate(a at, m Member) string {
	switch disk := m.Resource.Disk(); {
	case !m.Up:
		return "DRBD is not up"
	case disk != drbd.UpToDate:
		return fmt.Sprintf("its disk is %s: it is being copied", disk)
	case a.old84() && m.connection(0) != drbd.Connected:
		return "not connected"
	}
	return ""
}

// detached confirms when the member has let its disk go, and the others know.
func detached(a at, m Member) string {
	if why := applied(a, m); why != "" || !a.stored().Is(m.ID) {
		return why
	}
	if disk := m.Resource.Disk(); disk != drbd.Diskless {
		return fmt.Sprintf("its disk is %s, want Diskless", disk)
	}
	return ""
}
