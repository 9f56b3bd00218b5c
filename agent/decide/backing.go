package decide

import (
	"cmp"

	"rvol/drbd"
)

// backing finds the volume of a device, or says what it takes to have it: a
// step, or why there is none to take.
func (p *planner) backing(b Backing) (LV, Step, *Refusal) {
	vg, why := p.group(b.VG, b.VGUUID)
	if why != nil {
		return LV{}, nil, why
	}
	lv, found := p.tagged(b)
	if !found {
		step, why := p.create(vg, b)
		return LV{}, step, why
	}
	fact := p.in.Facts.Backings[b.Reservation]
	if why := p.identify(b, lv, fact); why != nil {
		return LV{}, nil, why
	}
	if lv.Unfinished || b.LVUUID == "" && fact.LV != "" && fact.LVUUID == "" {
		// Interrupted: creating again finds the volume, finishes it and
		// writes it down.
		step, why := p.make(CreateLV{Cluster: p.in.Desired.Cluster, Backing: b})
		return LV{}, step, why
	}
	if step := p.grow(b, lv, fact); step != nil {
		return LV{}, step, nil
	}
	return lv, nil, nil
}

// tagged finds the volume that carries the tags of a reservation.
func (p *planner) tagged(b Backing) (LV, bool) {
	return p.in.Observed.lv(b.VGUUID, func(v LV) bool {
		return v.Reservation == b.Reservation && v.Cluster == p.in.Desired.Cluster
	})
}

// identify refuses a volume with our tags that is not the one we know.
func (p *planner) identify(b Backing, lv LV, fact BackingFact) *Refusal {
	known := cmp.Or(b.LVUUID, fact.LVUUID)
	switch {
	case lv.Name != b.LV:
		return refuseForGood(Foreign, "LV %s/%s carries the tags of reservation %s, which belong to %s", lv.VG, lv.Name, b.Reservation, b.LV)
	case known != "" && lv.UUID != known, fact.LVUUID != "" && lv.UUID != fact.LVUUID:
		return refuseForGood(Foreign, "ForeignDiskDetected: LV %s/%s has UUID %s, the replica's is %s: it was replaced", lv.VG, lv.Name, lv.UUID, known)
	}
	return nil
}

// group finds a volume group about which all is known, as it is now.
func (p *planner) group(name, uuid string) (VG, *Refusal) {
	o := p.in.Observed
	vg, there := o.vg(uuid)
	switch {
	case o.NoLVM != "":
		return VG{}, refuse(NoTool, "LVM cannot be used: %s", o.NoLVM)
	case o.LVMError != "":
		return VG{}, refuse(Other, "LVM is not completely known: %s", o.LVMError)
	case !there:
		return VG{}, refuse(Other, "volume group %s (UUID %s) is not there: is its disk missing?", name, uuid)
	case vg.Stale != "":
		return VG{}, refuse(Other, "volume group %s is not known as it is now: %s", name, vg.Stale)
	case vg.Name != name:
		return VG{}, refuseForGood(Foreign, "volume group %s (UUID %s) is named %s now", name, uuid, vg.Name)
	}
	return vg, nil
}

// create says whether a volume that is not there may be made.
func (p *planner) create(vg VG, b Backing) (Step, *Refusal) {
	fact := p.in.Facts.Backings[b.Reservation]
	if lost := cmp.Or(b.LVUUID, fact.LVUUID); lost != "" {
		return nil, refuseForGood(Foreign, "LV %s/%s (UUID %s) is gone; it is not made again", b.VG, b.LV, lost)
	}
	if other, taken := p.in.Observed.lv(b.VGUUID, func(v LV) bool { return v.Name == b.LV }); taken {
		return nil, refuseForGood(Foreign, "LV %s/%s exists (UUID %s) and does not carry the tags of reservation %s: rename or remove it", b.VG, b.LV, other.UUID, b.Reservation)
	}
	if vg.Partial {
		return nil, refuse(Other, "volume group %s lacks disks: nothing can be made in it", b.VG)
	}
	return p.make(CreateLV{Cluster: p.in.Desired.Cluster, Backing: b})
}

// disk says what the disk of a device that is not attached needs before DRBD
// may have it.
func (p *planner) disk(r Resource, d Device, lv LV) (Step, *Refusal) {
	if !lv.Active {
		return ActivateLV{LV: lv}, nil
	}
	fact := p.in.Facts.Backings[d.Backing.Reservation]
	if fact.MetaAt != 0 && fact.MetaAt != lv.Size {
		return MoveMetadata{Reservation: d.Backing.Reservation, LV: lv, Minor: d.Minor}, nil
	}
	return p.metadata(r, d, lv)
}

// metadata says what DRBD's metadata on an active volume need: made they are only on
// a volume that this agent has just made.
func (p *planner) metadata(r Resource, d Device, lv LV) (Step, *Refusal) {
	fact := p.in.Facts.Backings[d.Backing.Reservation]
	if fact.of(lv) && !fact.MetaMade {
		return p.make(MakeMetadata{
			Reservation: d.Backing.Reservation, LV: lv, Minor: d.Minor, Peers: r.slots(), Device: r.DeviceUUID(d.Number),
		})
	}
	md, known := p.in.Observed.Metadata[lv.UUID]
	if !known || md.Attached || md.Err != "" {
		return nil, refuse(Other, "metadata of %s/%s could not be read: %s", lv.VG, lv.Name, cmp.Or(md.Err, "not looked at"))
	}
	switch {
	case md.None && !r.served() && fact.LV != "" && fact.LVUUID == "":
		// lvcreate outlived the agent that began it, or failed after its work, and the
		// coordinator heard of the volume before this agent wrote it down: go on where it ended.
		return p.make(CreateLV{Cluster: p.in.Desired.Cluster, Backing: *d.Backing})
	case md.None:
		return nil, refuseForGood(Foreign, "ForeignDiskDetected: LV %s/%s has no metadata of DRBD, and this agent did not just make it", lv.VG, lv.Name)
	case md.Device != r.DeviceUUID(d.Number):
		return nil, refuseForGood(Foreign, "ForeignDiskDetected: metadata on %s/%s is bound to %s, the replica's is %s", lv.VG, lv.Name, md.Device, r.DeviceUUID(d.Number))
	}
	return nil, nil
}

// served says that the replica is a full member of a formed volume: its disk has data, or
// had. The disk of one that is still to join was never given to DRBD.
func (r Resource) served() bool { return r.Formed && r.Member && r.attaches() }

// slots is the number of bitmap slots in the metadata.
func (r Resource) slots() int {
	if r.MaxPeers > 0 {
		return r.MaxPeers
	}
	return drbd.MaxPeers
}
