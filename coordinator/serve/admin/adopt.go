package admin

import (
	"context"
	"errors"
	"fmt"

	"rvol/coordinator/decide/adoption"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// errDryRun ends a change that is only looked at.
var errDryRun = errors.New("dry run")

// Adopt takes a volume back that nodes hold and the state has never heard of, with its
// data, LVs and numbers. It is used meanwhile.
func (s *volumes) Adopt(ctx context.Context, r *adminv1.AdoptVolumeRequest) (*adminv1.Volume, error) {
	key := model.Key{Kind: model.KindVolume, Name: r.GetName()}
	if err := model.CheckName("volume", r.GetName(), model.MaxVolumeName); err != nil {
		return nil, err
	}
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		if _, ok := v.Object(key); ok {
			return nil, door.Refuse(model.ErrExists, key, "the state has a volume of that name", "rename nothing: see `rvol volume show "+r.GetName()+"`")
		}
		if c, ok := state.Get[*model.Cluster](v, model.ClusterName); ok && c.Reconciling {
			return nil, door.Refuse(model.ErrBusy, key, "the cluster is reconciling", "accept the state first: `rvol cluster reconcile`")
		}
		in, err := s.adoptable(v, r)
		if err != nil {
			return nil, err
		}
		got, err := adoption.Adopt(in)
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", r.GetName(), err)
		}
		for _, o := range got.Put {
			b.Put(o)
		}
		for _, o := range got.Delete {
			b.Delete(o)
		}
		if r.GetDryRun() {
			return nil, errDryRun
		}
		return b.Because(fmt.Sprintf("adopt volume %s with %d replicas", r.GetName(), len(in.Replicas))), nil
	})
	if errors.Is(err, errDryRun) {
		return &adminv1.Volume{Meta: &adminv1.Meta{Name: r.GetName()}, Class: r.GetClass(), Message: "it can be adopted"}, nil
	}
	if err != nil {
		return nil, err
	}
	return s.one(r.GetName())
}

// adoptable gathers what agents remember of a volume, and hold of it.
func (s *volumes) adoptable(v state.View, r *adminv1.AdoptVolumeRequest) (adoption.Input, error) {
	in := adoption.Input{Name: r.GetName(), Class: r.GetClass(), Now: s.Clock()}
	if _, err := find[*model.Class](v, r.GetClass()); err != nil {
		return in, err
	}
	cs, ok := state.Get[*model.ClassStatus](v, r.GetClass())
	if !ok || cs.Configuration == nil {
		return in, door.Refuse(model.ErrBusy, model.Key{Kind: model.KindClass, Name: r.GetClass()}, "it is not ready", "see `rvol explain class "+r.GetClass()+"`")
	}
	in.Configuration, in.Generation = cs.Configuration, cs.ConfigurationGeneration
	seen := s.Inventory.View()
	for n := range state.All[*model.Node](v) {
		node := seen.Node(n.Name)
		if !node.Known() || node.StorageError != "" || node.DRBDError != "" {
			continue // whoever is missing is found out by the others' peers
		}
		for _, k := range node.Kept {
			if k.Volume == r.GetName() {
				in.Replicas = append(in.Replicas, keptReplica(v, node, n.Zone, k))
			}
		}
	}
	return in, nil
}

func keptReplica(v state.View, node *inventory.Node, zone string, k inventory.Kept) adoption.Replica {
	out := adoption.Replica{Kept: k, Node: node.Name, Zone: zone, LVs: map[string]adoption.LV{}}
	out.Resource, _ = node.Resource(model.ResourceName(k.Volume))
	for lvg := range state.Under[*model.LVG](v, node.Name+"/") {
		vg, _ := node.VG(lvg.UUID)
		for _, lv := range vg.LVs {
			pool, offered := lvg.Pool(lv.ThinPool)
			if lv.Reservation == "" || !offered {
				continue
			}
			one := adoption.LV{LV: lv, Pool: pool, VGName: lvg.VG}
			if r, ok := v.ReservationWithLV(node.Name, lvg.UUID, lv.UUID); ok && r.OwnerKind == model.OwnerOrphan && r.State != model.Releasing {
				one.Orphan = r
			}
			out.LVs[lv.Reservation] = one
		}
	}
	return out
}
