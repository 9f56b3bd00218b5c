package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

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
		l, err := offered(v, s.Inventory.View(), r)
		if old, ok := state.Get[*model.LVG](v, key.Name); ok {
			if err == nil && l.UUID != old.UUID {
				return succeed(v, b, old, l)
			}
			return nil, door.Refuse(model.ErrExists, key, "is offered already", "change it with `rvol lvg set "+key.Name+"`; a thin pool that was made anew is offered with --add-thin-pool")
		}
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

// succeed offers a volume group under the name of another one that is gone: its UUID is
// what it is known by. Nothing may stand on the former any more.
func succeed(v state.View, b *state.Build, old, l *model.LVG) (*state.Build, error) {
	if err := nothingReserved(v, old); err != nil {
		return nil, fmt.Errorf("the node has another volume group of that name now (UUID %s), and of the former (UUID %s): %w", l.UUID, old.UUID, err)
	}
	l.Revision = old.Revision
	return b.Because(fmt.Sprintf("offer volume group %s of node %s, another one than before", l.VG, l.Node)).Put(l), nil
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
		Meta: newMeta(model.LVGName(r.GetNode(), r.GetVg()), r.GetLabels(), time.Now()),
		Node: r.GetNode(), VG: vg.Name, UUID: vg.UUID, ThickOff: r.GetThickOff(),
		OverProvisioningPercent: model.DefaultOverProvisioningPercent,
		StopDataPercent:         model.DefaultStopPercent, StopMetadataPercent: model.DefaultStopPercent,
	}
	return l, addThinPools(v, l, vg, r.GetThinPools())
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

// addThinPools offers thin pools of a group. One that was made anew takes the place of the
// one of its name that is gone.
func addThinPools(v state.View, l *model.LVG, vg inventory.VG, names []string) error {
	for _, name := range names {
		i := slices.IndexFunc(vg.ThinPools, func(p inventory.ThinPool) bool { return p.Name == name })
		if i < 0 {
			var all []string
			for _, tp := range vg.ThinPools {
				all = append(all, tp.Name)
			}
			return door.Refuse(model.ErrNotFound, l.Key(), fmt.Sprintf("the group has no thin pool %s, but %s", name, these(all)), "name one of those, or make it with lvcreate")
		}
		if old, ok := l.Pool(name); ok {
			if old.ThinLV == vg.ThinPools[i].UUID {
				return door.Refuse(model.ErrExists, l.Key(), "thin pool "+name+" is offered already", "")
			}
			if err := nothingIn(v, l, old); err != nil {
				return fmt.Errorf("the group has another thin pool of that name now (UUID %s), and of the former (UUID %s): %w", vg.ThinPools[i].UUID, old.ThinLV, err)
			}
			l.ThinPools = slices.DeleteFunc(l.ThinPools, func(tp model.ThinPool) bool { return tp.Name == name })
		}
		l.ThinPools = append(l.ThinPools, model.ThinPool{Name: name, UUID: vg.ThinPools[i].UUID})
	}
	return nil
}
