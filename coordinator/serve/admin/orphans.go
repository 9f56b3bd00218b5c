package admin

import (
	"cmp"
	"context"
	"slices"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/compare"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	"rvol/drbd"
	adminv1 "rvol/proto/admin/v1"
)

type orphans struct {
	adminv1.UnimplementedOrphansServer
	*api
}

// kindOrphan is how messages name an orphan. It is no kind of object.
const kindOrphan model.Kind = "orphan"

// orphan is one of them, with the record that it is charged by.
type orphan struct {
	*adminv1.Orphan

	record *model.Reservation // nil: its volume group is not offered, or it has no LV
}

// List tells what nodes hold of this cluster's and the state has never heard of.
func (s *orphans) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListOrphansResponse, error) {
	out := &adminv1.ListOrphansResponse{}
	for _, o := range s.all() {
		named := len(q.GetNames()) == 0 || slices.Contains(q.GetNames(), o.GetMeta().GetName())
		if named && on(q, o.GetNode(), o.GetVolume()) {
			out.Orphans = append(out.Orphans, o.Orphan)
		}
	}
	return out, nil
}

// all lists those of the nodes that have reported, and those on their way out, by name.
func (s *orphans) all() []orphan {
	v, seen := s.Store.View(), s.Inventory.View()
	in := control.Comparison(v, seen)
	var out []orphan
	for _, d := range compare.Differences(in) {
		switch n := seen.Node(d.Node); d.Kind {
		case compare.UnknownLV:
			out = append(out, lvOrphan(v, n, d))
		case compare.UnknownResource:
			if !slices.ContainsFunc(out, func(o orphan) bool { return o.GetNode() == d.Node && o.GetVolume() == d.Volume }) {
				out = append(out, resourceOrphan(n, d))
			}
		default:
		}
	}
	for r := range state.All[*model.Reservation](v) {
		if r.OwnerKind == model.OwnerOrphan && r.State == model.Releasing {
			volume, _ := compare.VolumeOfLV(r.LV)
			out = append(out, orphan{&adminv1.Orphan{
				Meta: &adminv1.Meta{Name: r.Pool.Node + "/" + r.VGName + "/" + r.LV}, Node: r.Pool.Node, Kind: "lv", Volume: volume,
				Size: r.Observed, LvUuid: r.LVUUID, Reservation: r.Name, State: "removing",
			}, r})
		}
	}
	out = append(out, s.leftovers(v)...)
	slices.SortStableFunc(out, func(a, b orphan) int { return cmp.Compare(a.GetMeta().GetName(), b.GetMeta().GetName()) })
	return out
}

func lvOrphan(v state.View, n *inventory.Node, d compare.Difference) orphan {
	o := orphan{Orphan: &adminv1.Orphan{
		Meta: &adminv1.Meta{Name: d.Node + "/" + d.Object}, Node: d.Node, Kind: "lv", Volume: d.Volume, State: "reported", Adoptable: remembered(n, d.Volume),
	}}
	for _, vg := range n.VGs {
		for _, lv := range vg.LVs {
			if vg.Name+"/"+lv.Name != d.Object {
				continue
			}
			o.Size, o.LvUuid, o.Reservation = lv.Size, lv.UUID, lv.Reservation
			if r, ok := v.ReservationWithLV(d.Node, vg.UUID, lv.UUID); ok {
				o.record = r
				if r.Kept {
					o.State = "kept"
				}
			}
			if lv.Open {
				o.InUse = "it is open"
			}
		}
	}
	if res, up := n.Resource(model.ResourceName(d.Volume)); up {
		o.InUse = usedBy(res)
	}
	return o
}

func resourceOrphan(n *inventory.Node, d compare.Difference) orphan {
	o := &adminv1.Orphan{
		Meta: &adminv1.Meta{Name: d.Node + "/" + d.Object}, Node: d.Node, Kind: "resource", Volume: d.Volume, State: "reported",
		Adoptable: remembered(n, d.Volume),
	}
	if res, up := n.Resource(d.Object); up {
		o.InUse = usedBy(res)
	}
	return orphan{Orphan: o}
}

func usedBy(r inventory.Resource) string {
	if opener, open := r.Open(); open {
		return "it is open, by " + opener
	}
	if r.Role == drbd.Primary {
		return "DRBD is Primary"
	}
	return ""
}

func remembered(n *inventory.Node, volume string) bool {
	return slices.ContainsFunc(n.Kept, func(k inventory.Kept) bool { return k.Volume == volume })
}

// find returns the orphan of that name.
func (s *orphans) find(name string) (orphan, error) {
	all := s.all()
	i := slices.IndexFunc(all, func(o orphan) bool { return o.GetMeta().GetName() == name })
	if i < 0 {
		return orphan{}, door.NotFound(model.Key{Kind: kindOrphan, Name: name})
	}
	return all[i], nil
}

// Keep notes that an orphan is meant to stay.
func (s *orphans) Keep(ctx context.Context, r *adminv1.KeepOrphanRequest) (*adminv1.Done, error) {
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		o, err := s.recorded(r.GetName())
		if err != nil || o.record.Kept == !r.GetUndo() {
			return nil, err
		}
		next := model.Clone(o.record)
		next.Kept = !r.GetUndo()
		return b.Because("keep orphan " + r.GetName()).Put(next), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev}, nil
}

// recorded is an orphan that is an LV of an offered volume group, and charged for.
func (s *orphans) recorded(name string) (orphan, error) {
	o, err := s.find(name)
	key := model.Key{Kind: kindOrphan, Name: name}
	switch {
	case err != nil:
		return o, err
	case o.GetLeftover() && o.GetState() != "removing":
		return o, nil
	case o.GetKind() != "lv":
		return o, door.Refuse(model.ErrBusy, key, "it has no LV, and nothing of it is charged", "take it down on its node: drbdadm down "+model.ResourceName(o.GetVolume()))
	case o.GetState() == "removing":
		return o, door.Refuse(model.ErrBusy, key, "it is being removed", "")
	case o.record == nil:
		return o, door.Refuse(model.ErrBusy, key, "it is not charged yet: it was seen only now, or its volume group is not offered",
			"wait a little; or offer the group with `rvol lvg create`")
	}
	return o, nil
}

// Remove destroys an orphan with its data, when nobody uses it.
func (s *orphans) Remove(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	key := model.Key{Kind: kindOrphan, Name: r.GetName()}
	if err := confirmed(key, r.GetConfirm()); err != nil {
		return nil, err
	}
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		o, err := s.recorded(r.GetName())
		if err != nil {
			return nil, err
		}
		if o.GetLeftover() {
			return s.letGo(v, b, o.GetNode(), o.record)
		}
		if o.GetInUse() != "" {
			return nil, door.Refuse(model.ErrBusy, key, o.GetInUse(), "end its use on node "+o.GetNode()+" first")
		}
		return control.RemoveOrphan(v, o.record, o.GetReservation(), b)
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev, Message: "its node removes it"}, nil
}
