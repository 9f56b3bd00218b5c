package admin

import (
	"context"
	"fmt"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Lost is the operator's word that a volume group never comes back: what was to be removed in it is
// given up, and it is offered no more. Should it come back nevertheless, what it holds is unknown to
// the state: it is reported, and never removed by itself.
func (s *lvgs) Lost(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.LostLVGResponse, error) {
	key := model.Key{Kind: model.KindLVG, Name: r.GetName()}
	if err := confirmed(key, r.GetConfirm()); err != nil {
		return nil, err
	}
	out := &adminv1.LostLVGResponse{}
	_, err := s.write(ctx, "/forget", func(v state.View, b *state.Build) (*state.Build, error) {
		l, err := find[*model.LVG](v, r.GetName())
		if err != nil {
			return nil, err
		}
		if err := s.isGone(l); err != nil {
			return nil, err
		}
		out.Forgotten = nil
		for _, pool := range poolsOf(l) {
			for res := range v.ReservationsIn(pool) {
				if err := forget(l, res, b); err != nil {
					return nil, err
				}
				out.Forgotten = append(out.Forgotten, l.Node+"/"+l.VG+"/"+res.LV)
			}
		}
		if err := s.forgetReplicas(v, l, b); err != nil {
			return nil, err
		}
		l = model.Clone(l)
		l.Unschedulable = true
		return b.Because(fmt.Sprintf("lvg %s is lost: forget %d volumes that were to be removed there", l.Name, len(out.Forgotten))).Put(l), nil
	})
	if err != nil {
		return nil, err
	}
	done, err := s.Delete(part(ctx, "offer"), &adminv1.DeleteRequest{Name: r.GetName()})
	out.Revision = done.GetRevision()
	return out, err
}

// isGone refuses while the group's node does not say that the group is not there.
func (s *lvgs) isGone(l *model.LVG) error {
	seen := s.Inventory.View().Node(l.Node)
	if !seen.Known() || seen.StorageError != "" || seen.DRBDError != "" {
		return door.Refuse(model.ErrUnavailable, l.Key(), "node "+l.Node+" does not report completely what it has",
			"see `rvol node show "+l.Node+"`; of a machine that never comes back: `rvol node lost "+l.Node+"`")
	}
	if vg, there := seen.VG(l.UUID); there {
		return door.Refuse(model.ErrBusy, l.Key(), fmt.Sprintf("volume group %s is there, on node %s", vg.Name, l.Node), "take it back with `rvol lvg delete "+l.Name+"`")
	}
	return nil
}

// forget takes a reservation away, unless the state still counts on it.
func forget(l *model.LVG, res *model.Reservation, b *state.Build) error {
	if released := res.OwnerKind == model.OwnerReplica && res.State == model.Releasing; !released && res.OwnerKind != model.OwnerOrphan {
		return door.Refuse(model.ErrBusy, l.Key(), fmt.Sprintf("it holds %s of %s %s, which is not given up", size(res.Charge()), res.OwnerKind, res.Owner),
			"wait until another copy was made, or give it up: a replica with `rvol replica remove`, a hold with `rvol lvg hold delete`")
	}
	b.Delete(res)
	return nil
}

// forgetReplicas takes away the deleted replicas that have nothing but what is forgotten.
func (s *lvgs) forgetReplicas(v state.View, l *model.LVG, b *state.Build) error {
	for r := range v.ReplicasOn(l.Node) {
		here, elsewhere := 0, 0
		for res := range v.ReservationsOf(model.OwnerReplica, r.Name) {
			if res.Pool.VG == l.UUID {
				here++
			} else {
				elsewhere++
			}
		}
		if !r.Deleting() || here == 0 {
			continue // it has another volume group by now, or never had this one
		}
		if up, there := s.Inventory.View().Node(l.Node).Resource(model.ResourceName(r.Volume)); there {
			return door.Refuse(model.ErrBusy, l.Key(), fmt.Sprintf("DRBD has %s up, of replica %s", up.Name, r.Name), "wait until its agent has taken it down; `rvol replica show "+r.Name+"` says what it waits for")
		}
		if elsewhere > 0 {
			return door.Refuse(model.ErrBusy, l.Key(), "replica "+r.Name+" has a volume in another group, which is there", "wait until its agent has removed that")
		}
		b.Delete(r)
	}
	return nil
}
