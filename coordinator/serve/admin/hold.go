package admin

import (
	"context"
	"fmt"
	"slices"

	"rvol/coordinator/control"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

type holds struct {
	adminv1.UnimplementedHoldsServer
	*api
}

// holdKey is how answers speak of a hold.
func holdKey(name string) model.Key { return model.Key{Kind: model.OwnerHold, Name: name} }

// List tells which space operators hold back.
func (s *holds) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListHoldsResponse, error) {
	v, out := s.Store.View(), &adminv1.ListHoldsResponse{}
	for r := range state.Under[*model.Reservation](v, model.OwnerHold+".") {
		named := len(q.GetNames()) == 0 || slices.Contains(q.GetNames(), r.Owner)
		if r.OwnerKind == model.OwnerHold && named && on(q, r.Pool.Node, "") {
			out.Holds = append(out.Holds, holdOf(r))
		}
	}
	return out, nil
}

func holdOf(r *model.Reservation) *adminv1.Hold {
	m := meta(&r.Meta)
	m.Name, m.Uid = r.Owner, r.Name
	return &adminv1.Hold{Meta: m, Lvg: model.LVGName(r.Pool.Node, r.VGName), ThinPool: r.ThinPool, Size: r.Granted}
}

// Create holds space back.
func (s *holds) Create(ctx context.Context, r *adminv1.CreateHoldRequest) (*adminv1.Hold, error) {
	if err := model.CheckName("hold", r.GetName(), model.MaxName); err != nil {
		return nil, err
	}
	key := holdKey(r.GetName())
	if _, err := model.CheckSize(r.GetSize()); err != nil {
		return nil, invalid(key, err)
	}
	if _, _, ok := model.SplitLVGName(r.GetLvg()); !ok {
		return nil, door.Invalid(key, "volume group %q: want NODE/VG", r.GetLvg())
	}
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		if _, taken := state.Get[*model.Reservation](v, holdName(r.GetName())); taken {
			return nil, door.Refuse(model.ErrExists, key, "exists already", "use another name, or delete it first")
		}
		l, err := holdable(v, r)
		if err != nil {
			return nil, err
		}
		b.Because(fmt.Sprintf("hold %s of %s back as %s", model.HumanSize(r.GetSize()), r.GetLvg(), r.GetName()))
		return b, control.Reserve(v, b, s.Clock(), hold(r.GetName()),
			control.Claim{Node: l.Node, VG: l.VG, ThinPool: r.GetThinPool(), Bytes: r.GetSize()})
	})
	if err != nil {
		return nil, err
	}
	res, err := find[*model.Reservation](s.Store.View(), holdName(r.GetName()))
	if err != nil {
		return nil, err
	}
	return holdOf(res), nil
}

// holdable is the LVG of which space is to be held back.
func holdable(v state.View, r *adminv1.CreateHoldRequest) (*model.LVG, error) {
	l, err := find[*model.LVG](v, r.GetLvg())
	if err != nil {
		return nil, err
	}
	var thin []string
	for _, tp := range l.ThinPools {
		thin = append(thin, tp.Name)
	}
	if r.GetThinPool() != "" && !slices.Contains(thin, r.GetThinPool()) {
		return nil, door.Refuse(model.ErrNotFound, l.Key(), fmt.Sprintf("it offers no thin pool %q, only %q", r.GetThinPool(), thin), "see `rvol lvg show`")
	}
	if r.GetThinPool() != "" || len(thin) == 0 {
		return l, nil
	}
	group, _ := l.Pool("")
	if c, ok := state.Get[*model.Capacity](v, group.String()); l.ThickOff || ok && c.Limit() == 0 {
		return nil, door.Refuse(model.ErrInvalid, l.Key(), fmt.Sprintf("its space is all in thin pools: %q", thin), "name one with --thin-pool")
	}
	return l, nil
}

func hold(name string) control.Owner { return control.Owner{Kind: model.OwnerHold, Name: name} }

func holdName(name string) string { return hold(name).Reservation(0, 0) }

// Delete gives the space back.
func (s *holds) Delete(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		res, ok := state.Get[*model.Reservation](v, holdName(r.GetName()))
		if !ok {
			return nil, door.NotFound(holdKey(r.GetName()))
		}
		return b.Because("hold " + r.GetName() + " back no more").Delete(res), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev, Message: "is given back"}, nil
}
