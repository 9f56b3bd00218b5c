package decide

import (
	"cmp"
	"hash/fnv"
	"slices"

	"rvol/drbd"
)

// releases carries out the releases of this resource. True: nothing else may
// be done about the resource before.
func (p *planner) releases() bool {
	if p.passive {
		return false
	}
	busy := false
	for _, rel := range p.in.Desired.Releases {
		if rel.Resource != p.key {
			continue
		}
		state := ReplicaState{Volume: rel.Volume, ReplicaUID: rel.ReplicaUID, PrimaryAllowed: true}
		before := len(p.plan.Steps)
		holds, refusal := p.release(rel)
		if refusal != nil {
			state.Refuse(refusal)
		}
		if n := len(p.plan.Steps); n > before {
			state.Step = p.plan.Steps[n-1].String()
		}
		busy = busy || holds || len(p.plan.Steps) > before
		if rel.ReplicaUID != "" && (state.Error != "" || state.Step != "") {
			p.plan.States = append(p.plan.States, state)
		}
	}
	return busy
}

// release adds the steps of one release, or the proof that it is done. holds:
// the file or the kernel's resource are still those of the release.
func (p *planner) release(rel Release) (holds bool, why *Refusal) {
	if !nameRE.MatchString(rel.Resource) {
		return false, refuseForGood(Refused, "%q is no name of a resource", rel.Resource)
	}
	if why := p.drbdUsable(); why != nil && !p.neverLoaded() {
		return true, why
	}
	lv, gone, why := p.released(rel)
	if why != nil {
		return p.unproven(rel, lv, why)
	}
	switch {
	case p.isUp && p.belongs(rel, lv):
		return true, p.down(rel)
	case !gone:
		return true, p.remove(rel, lv)
	case p.tidy(rel):
		return true, nil
	}
	p.plan.Released = append(p.plan.Released, rel.Reservation)
	return false, nil
}

// remove destroys a volume that DRBD does not hold.
func (p *planner) remove(rel Release, lv LV) *Refusal {
	if lv.Open {
		return refuse(InUse, "LV %s/%s is held open by something that is not %s: find it with `dmsetup ls --tree` and `lsof`", lv.VG, lv.Name, p.key)
	}
	if md, ok := p.in.Observed.Metadata[lv.UUID]; ok && !md.None && md.Err == "" && lv.Active {
		p.add(WipeMetadata{LV: lv, Minor: spareMinor(lv)})
	}
	p.add(RemoveLV{Cluster: p.in.Desired.Cluster, Reservation: rel.Reservation, LV: lv})
	return nil
}

// unproven is a release whose end cannot be proven now. Where the volume group is not there, DRBD is
// of no use, and is taken down; the rest waits for the group.
func (p *planner) unproven(rel Release, lv LV, why *Refusal) (holds bool, _ *Refusal) {
	o := p.in.Observed
	_, there := o.vg(rel.VGUUID)
	switch gone := !there && o.NoLVM == "" && o.LVMError == ""; {
	case !gone || !p.hasFile || !p.fileOf(rel):
	case p.isUp:
		return true, p.down(rel)
	case p.tidy(rel):
		return true, nil
	}
	return p.belongs(rel, lv), why
}

// down takes the resource of a release down, unless somebody has it open.
func (p *planner) down(rel Release) *Refusal {
	if why := p.heldOpen("release " + rel.Reservation); why != nil {
		return why
	}
	p.add(Down{Resource: p.key})
	p.unlinkAll(rel.Volume)
	return nil
}

// tidy removes what is left beside the volume. False: nothing is.
func (p *planner) tidy(rel Release) bool {
	before := len(p.plan.Steps)
	if _, wanted := p.in.Desired.Resource(p.key); !wanted {
		p.unlinkAll(rel.Volume)
	}
	if p.hasFile && p.fileOf(rel) {
		p.add(RemoveFile{Resource: p.key})
	}
	return len(p.plan.Steps) > before
}

// neverLoaded: the tools are there and the module is not, so nothing is up.
func (p *planner) neverLoaded() bool {
	v := p.in.Observed.DRBD
	return !v.Loaded() && v.Tools != (drbd.Number{}) && p.in.Observed.FileError == ""
}

// released finds the volume of a release, or proof that it is gone.
func (p *planner) released(rel Release) (lv LV, gone bool, why *Refusal) {
	if rel.LV == "" {
		return LV{}, true, nil // diskless
	}
	if _, why := p.group(rel.VG, rel.VGUUID); why != nil {
		return LV{}, false, why
	}
	uuid := cmp.Or(rel.LVUUID, p.in.Facts.Backings[rel.Reservation].LVUUID)
	lv, found := p.in.Observed.lv(rel.VGUUID, func(v LV) bool {
		return v.Reservation == rel.Reservation && v.Cluster == p.in.Desired.Cluster || uuid != "" && v.UUID == uuid
	})
	switch {
	case !found:
		return LV{}, true, nil
	case lv.Reservation != rel.Reservation || lv.Cluster != p.in.Desired.Cluster:
		return lv, false, refuseForGood(Foreign, "LV %s/%s (UUID %s) lacks the tags of reservation %s: it is not removed", lv.VG, lv.Name, lv.UUID, rel.Reservation)
	case uuid != "" && lv.UUID != uuid:
		return lv, false, refuseForGood(Foreign, "LV %s/%s has UUID %s, the reservation's is %s: it is not removed", lv.VG, lv.Name, lv.UUID, uuid)
	case lv.Name != rel.LV:
		return lv, false, refuseForGood(Foreign, "LV %s/%s carries the tags of reservation %s, which belong to %s: it is not removed", lv.VG, lv.Name, rel.Reservation, rel.LV)
	}
	return lv, false, nil
}

// fileOf says that the .res file is that of the released replica.
func (p *planner) fileOf(rel Release) bool {
	return rel.ReplicaUID != "" && p.owner.Replica == rel.ReplicaUID ||
		rel.Reservation != "" && slices.Contains(p.owner.Reservations, rel.Reservation)
}

// belongs says that the resource which is up, or its file, is that of the
// released replica. Without a file it is unless somebody else may have it.
func (p *planner) belongs(rel Release, lv LV) bool {
	if p.hasFile {
		return p.fileOf(rel)
	}
	_, wanted := p.in.Desired.Resource(p.key)
	return p.isUp && (!wanted || lv.Open)
}

// spareMinor is what drbdmeta is told for a disk that no device has: it locks
// by this number. Minors from 1<<19 are never handed out.
func spareMinor(lv LV) drbd.Minor {
	h := fnv.New32a()
	_, _ = h.Write([]byte(lv.UUID)) // never fails
	return drbd.Minor(1<<19 + h.Sum32()>>14)
}
