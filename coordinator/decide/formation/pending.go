package formation

import (
	"cmp"
	"slices"
	"time"

	"rvol/coordinator/model"
)

// What a replica asks of the mesh.
const (
	Join       = "Join"       // it is placed, and no member yet
	Leave      = "Leave"      // it is being deleted, and still a member
	ChangeType = "ChangeType" // it is a member of another type
)

// Pending brings the list of what replicas ask of the mesh up to date: sorted by id, an
// entry that asks the same keeps the time at which it was first seen.
func Pending(old []model.PendingReplicaTransition, members []model.DatameshMember, replicas []*model.Replica, now time.Time) []model.PendingReplicaTransition {
	var out []model.PendingReplicaTransition
	for _, r := range replicas {
		p, asks := request(members, r)
		if !asks {
			continue
		}
		p.FirstObservedAt = now
		for _, o := range old {
			if o.ID == p.ID && o.Request == p.Request && o.Type == p.Type {
				p.FirstObservedAt = o.FirstObservedAt
			}
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b model.PendingReplicaTransition) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// request is what one replica asks.
func request(members []model.DatameshMember, r *model.Replica) (p model.PendingReplicaTransition, asks bool) {
	p = model.PendingReplicaTransition{ID: r.ID, Type: r.Type}
	i := slices.IndexFunc(members, func(m model.DatameshMember) bool { return m.ID == r.ID })
	switch {
	case r.Deleting():
		p.Request, asks = Leave, i >= 0
	case i < 0:
		p.Request, asks = Join, r.Node != ""
	default:
		p.Request, asks = ChangeType, members[i].Type != r.Type
	}
	return p, asks
}
