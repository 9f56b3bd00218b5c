package decide

import "slices"

// Kept is what remains of earlier orders under a new one: members that it does not name
// and that nothing released. Coordinators that have forgotten them, as after an old state
// was restored, can take them back.
func Kept(before, ordered []Resource, d Desired) []Resource {
	var out []Resource
	for _, r := range slices.Concat(ordered, before) {
		_, named := d.Resource(r.Name)
		again := slices.ContainsFunc(out, func(o Resource) bool { return o.Name == r.Name })
		if r.Member && !named && !again && !released(d, r) {
			out = append(out, r)
		}
	}
	return out
}

// released says that the order takes something of the resource away.
func released(d Desired, r Resource) bool {
	return slices.ContainsFunc(d.Releases, func(rel Release) bool {
		return rel.ReplicaUID == r.ReplicaUID || slices.ContainsFunc(r.Devices, func(dev Device) bool {
			return dev.Backing != nil && dev.Backing.Reservation == rel.Reservation
		})
	})
}

// forgotten finds a resource that coordinators have forgotten.
func (in Input) forgotten(key string) (Resource, bool) {
	i := slices.IndexFunc(in.Kept, func(r Resource) bool { return r.Name == key })
	if i < 0 {
		return Resource{}, false
	}
	_, named := in.Desired.Resource(key)
	return in.Kept[i], !named
}

// revive brings up, once after the node began, what coordinators have forgotten: Secondary, from
// the file that is there. Who takes it down by hand afterwards is not contradicted.
func (p *planner) revive(r Resource) {
	if p.isUp || p.in.Facts.WasUp || !p.hasFile || p.owner.Replica != r.ReplicaUID || p.drbdUsable() != nil {
		return
	}
	p.passive = true
	if ready, why := p.disks(r); ready && why == nil {
		p.bringUp(r, p.file)
	}
}
