package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// Create offers a volume group that the node reports, or has one made on an empty disk
// first and waits for it.
func (s *lvgs) Create(ctx context.Context, r *adminv1.CreateLVGRequest) (*adminv1.LVG, error) {
	key := model.Key{Kind: model.KindLVG, Name: model.LVGName(r.GetNode(), r.GetVg())}
	if err := checkOffer(key, r); err != nil {
		return nil, err
	}
	if r.GetDevice() != "" {
		if err := s.makeGroup(ctx, r); err != nil {
			return nil, err
		}
	}
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		if _, ok := state.Get[*model.LVG](v, key.Name); ok {
			return nil, door.Refuse(model.ErrExists, key, "is offered already", "change it with `rvol lvg set "+key.Name+"`")
		}
		l, err := offered(v, s.Inventory.View(), r)
		if err != nil {
			return nil, err
		}
		return b.Because(fmt.Sprintf("offer volume group %s of node %s", l.VG, l.Node)).Put(l), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(key.Name)
}

// offered makes an LVG of a volume group that its node reports.
func offered(v state.View, seen inventory.View, r *adminv1.CreateLVGRequest) (*model.LVG, error) {
	if _, err := find[*model.Node](v, r.GetNode()); err != nil {
		return nil, err
	}
	vg, err := reportedGroup(seen, r.GetNode(), r.GetVg())
	if err != nil {
		return nil, err
	}
	l := &model.LVG{
		Meta: newMeta(model.LVGName(r.GetNode(), r.GetVg()), r.GetLabels()),
		Node: r.GetNode(), VG: vg.Name, UUID: vg.UUID, ThickOff: r.GetThickOff(),
		OverProvisioningPercent: model.DefaultOverProvisioningPercent,
		StopDataPercent:         model.DefaultStopPercent, StopMetadataPercent: model.DefaultStopPercent,
	}
	return l, addThinPools(l, vg, r.GetThinPools())
}

func checkOffer(key model.Key, r *adminv1.CreateLVGRequest) error {
	if err := model.CheckLVMName("volume group", r.GetVg()); err != nil {
		return invalid(key, err)
	}
	for i, tp := range r.GetThinPools() {
		if err := model.CheckLVMName("thin pool", tp); err != nil {
			return invalid(key, err)
		}
		if slices.Contains(r.GetThinPools()[:i], tp) {
			return door.Invalid(key, "thin pool %s is named twice", tp)
		}
	}
	switch {
	case r.GetThickOff() && len(r.GetThinPools()) == 0:
		return door.Invalid(key, "no thick volumes and no thin pool: nothing would be offered")
	case r.GetDevice() != "" && len(r.GetThinPools()) > 1:
		return door.Invalid(key, "only one thin pool can be made on a disk: make the others with lvcreate and offer them with `rvol lvg set --add-thin-pool`")
	case r.GetDevice() != "" && (!strings.HasPrefix(r.GetDevice(), "/dev/") || strings.Contains(r.GetDevice(), "..")):
		return door.Invalid(key, "device %q: want a path under /dev", r.GetDevice())
	}
	return invalid(key, model.CheckLabels(r.GetLabels()))
}

// reportedGroup finds a volume group among those that a node reports.
func reportedGroup(seen inventory.View, node, name string) (inventory.VG, error) {
	key := model.Key{Kind: model.KindNode, Name: node}
	agent := seen.Node(node)
	switch {
	case !agent.Known():
		return inventory.VG{}, door.Refuse(model.ErrUnavailable, key, "its agent has not reported what the node holds", "see that rvol-agent runs there")
	case agent.StorageError != "":
		return inventory.VG{}, door.Refuse(model.ErrUnavailable, key, "its agent could not list the volume groups: "+agent.StorageError, "look at LVM on the node")
	}
	var names []string
	for _, vg := range agent.VGs {
		if vg.Name == name {
			if vg.Partial {
				return vg, door.Refuse(model.ErrBusy, key, "volume group "+name+" misses physical volumes", "bring the disks back, or `vgreduce --removemissing` on the node")
			}
			return vg, nil
		}
		names = append(names, vg.Name)
	}
	return inventory.VG{}, door.Refuse(model.ErrNotFound, key, fmt.Sprintf("it reports no volume group %s, but %s", name, these(names)),
		"name one of those, or make one on an empty disk with --device")
}

func these(names []string) string {
	if len(names) == 0 {
		return "none at all"
	}
	return strings.Join(names, ", ")
}

func addThinPools(l *model.LVG, vg inventory.VG, names []string) error {
	for _, name := range names {
		if _, ok := l.Pool(name); ok {
			return door.Refuse(model.ErrExists, l.Key(), "thin pool "+name+" is offered already", "")
		}
		i := slices.IndexFunc(vg.ThinPools, func(p inventory.ThinPool) bool { return p.Name == name })
		if i < 0 {
			var all []string
			for _, tp := range vg.ThinPools {
				all = append(all, tp.Name)
			}
			return door.Refuse(model.ErrNotFound, l.Key(), fmt.Sprintf("the group has no thin pool %s, but %s", name, these(all)), "name one of those, or make it with lvcreate")
		}
		l.ThinPools = append(l.ThinPools, model.ThinPool{Name: name, UUID: vg.ThinPools[i].UUID})
	}
	return nil
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
			if err := addThinPools(l, vg, r.GetAddThinPools()); err != nil {
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
	pools := []string{""}
	for _, tp := range l.ThinPools {
		pools = append(pools, tp.Name)
	}
	for _, thin := range pools {
		pool, _ := l.Pool(thin)
		for res := range v.ReservationsIn(pool) {
			return door.Refuse(model.ErrBusy, l.Key(), fmt.Sprintf("it holds %s of %s %s", size(res.Charge()), res.OwnerKind, res.Owner),
				"delete that first; `rvol lvg show "+l.Name+"` lists all there is")
		}
	}
	return nil
}
