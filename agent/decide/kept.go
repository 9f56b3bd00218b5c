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
