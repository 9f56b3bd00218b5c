package admin

import (
	"context"
	"fmt"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

type lvgs struct {
	adminv1.UnimplementedLVGsServer
	*api
}

// List tells of volume groups what is reserved in them, and how full they are.
func (s *lvgs) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListLVGsResponse, error) {
	v, seen := s.Store.View(), s.Inventory.View()
	picked, err := pick[*model.LVG](v, q)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListLVGsResponse{}
	for _, l := range picked {
		if on(q, l.Node, "") {
			out.Lvgs = append(out.Lvgs, lvgOf(v, seen, l))
		}
	}
	return out, nil
}

func (s *lvgs) one(name string) (*adminv1.LVG, error) {
	v := s.Store.View()
	l, err := find[*model.LVG](v, name)
	if err != nil {
		return nil, err
	}
	return lvgOf(v, s.Inventory.View(), l), nil
}

func lvgOf(v state.View, seen inventory.View, l *model.LVG) *adminv1.LVG {
	out := &adminv1.LVG{
		Meta: meta(&l.Meta), Node: l.Node, Vg: l.VG, Uuid: l.UUID, Unschedulable: l.Unschedulable, ThickOff: l.ThickOff,
		OverProvisioningPercent: int32(l.OverProvisioningPercent),
		StopDataPercent:         int32(l.StopDataPercent), StopMetadataPercent: int32(l.StopMetadataPercent),
	}
	var records []*model.Capacity
	add := func(thin string) {
		pool, _ := l.Pool(thin)
		c, _ := state.Get[*model.Capacity](v, pool.String())
		records = append(records, c)
		out.Spaces = append(out.Spaces, spaceOf(v, pool, thin, c))
	}
	if !l.ThickOff {
		add("")
	}
	for _, tp := range l.ThinPools {
		add(tp.Name)
	}
	if agent := seen.Node(l.Node); agent.Known() {
		fill(out, agent)
	}
	out.Conditions = conditions(lvgConditions(l, records))
	return out
}

// spaceOf is the ledger of one pool; c is nil while its size is not known.
func spaceOf(v state.View, pool model.PoolID, thin string, c *model.Capacity) *adminv1.PoolSpace {
	out := &adminv1.PoolSpace{ThinPool: thin, Uuid: pool.VG, Reserved: v.Charged(pool), OverProvisioningPercent: 100}
	if thin != "" {
		out.Uuid = pool.ThinLV
	}
	if c != nil {
		out.Size, out.Foreign = c.Extents*c.ExtentSize, c.ForeignExtents*c.ExtentSize
		out.Limit, out.GrowthStopped = c.Limit(), c.GrowthStopped
		out.OverProvisioningPercent = int32(c.Percent)
	}
	out.Free = max(0, out.Limit-out.Reserved)
	for r := range v.ReservationsIn(pool) {
		out.Reservations = append(out.Reservations, &adminv1.Reservation{
			Uid: r.Name, OwnerKind: r.OwnerKind, Owner: r.Owner, Granted: r.Granted, Pending: r.Pending, Observed: r.Observed,
			State: string(r.State), Lv: r.LV, LvUuid: r.LVUUID,
		})
	}
	return out
}

// fill adds how full the thin pools were when their node last said so.
func fill(l *adminv1.LVG, agent *inventory.Node) {
	vg, ok := agent.VG(l.GetUuid())
	if !ok {
		return
	}
	for _, s := range l.GetSpaces() {
		for _, tp := range vg.ThinPools {
			if s.GetThinPool() != "" && tp.UUID == s.GetUuid() {
				s.DataPercent, s.MetadataPercent = &tp.DataPercent, &tp.MetadataPercent
			}
		}
	}
}

func lvgConditions(l *model.LVG, records []*model.Capacity) []model.Condition {
	ready := model.Condition{Type: "Ready", Status: model.True, Reason: "Ready"}
	schedulable := model.Condition{Type: "Schedulable", Status: model.True, Reason: "Schedulable"}
	if l.Unschedulable {
		schedulable.Status, schedulable.Reason, schedulable.Message = model.False, "Cordoned", "the operator has cordoned it"
	}
	for _, c := range records {
		switch {
		case c == nil:
			ready.Status, ready.Reason, ready.Message = model.Unknown, "NotReported", "waiting for node "+l.Node+" to report its size"
		case c.Missing:
			ready.Status, ready.Reason, ready.Message = model.False, "Missing", c.GrowthStopped
		case c.GrowthStopped != "" && !l.Unschedulable:
			schedulable.Status, schedulable.Reason, schedulable.Message = model.False, "GrowthStopped", c.GrowthStopped
		}
	}
	if ready.Status != model.True && schedulable.Status == model.True {
		schedulable.Status, schedulable.Reason, schedulable.Message = ready.Status, ready.Reason, ready.Message
	}
	return []model.Condition{ready, schedulable}
}

// Set changes how a volume group is used.
func (s *lvgs) Set(ctx context.Context, r *adminv1.SetLVGRequest) (*adminv1.LVG, error) {
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		old, err := find[*model.LVG](v, r.GetName())
		if err != nil {
			return nil, err
		}
		l := model.Clone(old)
		l.Generation++
		if r.Unschedulable != nil {
			l.Unschedulable = r.GetUnschedulable()
		}
		if err := setPercents(l, r); err != nil {
			return nil, err
		}
		if l.Labels, err = relabel(l.Labels, r.GetLabels()); err != nil {
			return nil, invalid(l.Key(), err)
		}
		if len(r.GetAddThinPools()) > 0 {
			vg, err := reportedGroup(s.Inventory.View(), l.Node, l.VG)
			if err != nil {
				return nil, err
			}
			if vg.UUID != l.UUID {
				return nil, door.Refuse(model.ErrConflict, l.Key(), "the node has another volume group of that name now", "delete the LVG and offer the new group")
			}
			if err := addThinPools(v, l, vg, r.GetAddThinPools()); err != nil {
				return nil, err
			}
		}
		return b.Because("change lvg " + l.Name).Put(l), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(r.GetName())
}

func setPercents(l *model.LVG, r *adminv1.SetLVGRequest) error {
	for _, p := range []struct {
		what        string
		to          *int
		from        *int32
		least, most int32
	}{
		{"over-provisioning percent", &l.OverProvisioningPercent, r.OverProvisioningPercent, 100, 100_000},
		{"stop at data percent", &l.StopDataPercent, r.StopDataPercent, 1, 100},
		{"stop at metadata percent", &l.StopMetadataPercent, r.StopMetadataPercent, 1, 100},
	} {
		if p.from == nil {
			continue
		}
		n, err := within(l.Key(), p.what, *p.from, p.least, p.most)
		if err != nil {
			return err
		}
		*p.to = n
	}
	return nil
}

// Delete takes an offer back; the volume group stays on its node. It is cordoned first,
// so that nothing can be placed there while it is looked at.
func (s *lvgs) Delete(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	_, err := s.write(ctx, "/cordon", func(v state.View, b *state.Build) (*state.Build, error) {
		l, err := find[*model.LVG](v, r.GetName())
		if err == nil {
			err = nothingReserved(v, l)
		}
		if err != nil || l.Unschedulable {
			return nil, err
		}
		l = model.Clone(l)
		l.Unschedulable = true
		return b.Because("cordon lvg " + l.Name + " to take it back").Put(l), nil
	})
	if err != nil {
		return nil, err
	}
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		l, err := find[*model.LVG](v, r.GetName())
		if err == nil {
			err = nothingReserved(v, l)
		}
		if err != nil {
			return nil, err
		}
		return b.Because("offer lvg " + l.Name + " no more").Delete(l), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev, Message: "the volume group stays on its node"}, nil
}

func nothingReserved(v state.View, l *model.LVG) error {
	for _, pool := range poolsOf(l) {
		if err := nothingIn(v, l, pool); err != nil {
			return err
		}
	}
	return nil
}

func nothingIn(v state.View, l *model.LVG, pool model.PoolID) error {
	for res := range v.ReservationsIn(pool) {
		return door.Refuse(model.ErrBusy, l.Key(), fmt.Sprintf("it holds %s of %s %s", size(res.Charge()), res.OwnerKind, res.Owner),
			"delete that first; `rvol lvg show "+l.Name+"` lists all there is; of a group that is gone for good: `rvol lvg lost "+l.Name+"`")
	}
	return nil
}

// poolsOf are a volume group and the thin pools of it that are offered.
func poolsOf(l *model.LVG) []model.PoolID {
	pool, _ := l.Pool("")
	out := []model.PoolID{pool}
	for _, tp := range l.ThinPools {
		pool.ThinLV = tp.UUID
		out = append(out, pool)
	}
	return out
}
