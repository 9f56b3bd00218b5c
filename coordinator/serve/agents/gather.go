package agents

import (
	"rvol/coordinator/decide/desired"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
)

// Gather collects from one view everything that touches a node.
func Gather(v state.View, node string) (desired.State, error) {
	var s desired.State
	var ok [3]bool
	s.Cluster, ok[0] = state.Get[*model.Cluster](v, model.ClusterName)
	s.Node, ok[1] = state.Get[*model.Node](v, node)
	s.Status, ok[2] = state.Get[*model.NodeStatus](v, node)
	if ok != [3]bool{true, true, true} {
		return s, door.NotFound(model.Key{Kind: model.KindNode, Name: node})
	}
	reservations := map[string]*model.Reservation{}
	for r := range v.ReplicasOn(node) {
		if vol, found := volumeOn(v, node, r); found {
			s.Volumes = append(s.Volumes, vol)
		}
		for res := range v.ReservationsOf(model.OwnerReplica, r.Name) {
			reservations[res.Name] = res
		}
	}
	// What a pool still holds of owners that are gone.
	for c := range state.Under[*model.Capacity](v, node+"/") {
		for res := range v.ReservationsIn(c.Pool) {
			reservations[res.Name] = res
		}
	}
	for _, res := range reservations {
		if res.Pool.Node == node {
			s.Reservations = append(s.Reservations, res) // desired sorts what it makes of them
		}
	}
	for op := range v.OperationsOn(node) {
		s.Operations = append(s.Operations, op)
	}
	for l := range state.Under[*model.LVG](v, node+"/") {
		s.LVGs = append(s.LVGs, l)
	}
	s.Coordinators = coordinators(v)
	return s, nil
}

func volumeOn(v state.View, node string, r *model.Replica) (desired.Volume, bool) {
	vol, ok := state.Get[*model.Volume](v, r.Volume)
	vs, has := state.Get[*model.VolumeStatus](v, r.Volume)
	if !ok || !has {
		return desired.Volume{}, false
	}
	out := desired.Volume{Volume: vol, Status: vs, Replica: r}
	if s, ok := state.Get[*model.Secret](v, model.VolumeSecret(r.Volume)); ok {
		out.Secret = s.Value
	}
	if a, ok := state.Get[*model.Attachment](v, model.AttachmentName(r.Volume, node)); ok {
		out.Attached = a.Granted && !a.Deleting()
	}
	return out, true
}
