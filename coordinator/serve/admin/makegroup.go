package admin

import (
	"context"
	"fmt"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// makeGroup has a volume group made on an empty disk, by an operation of the node, and
// returns when the node has reported it.
func (s *lvgs) makeGroup(ctx context.Context, r *adminv1.CreateLVGRequest) error {
	name := fmt.Sprintf("create-vg-%s-%s", r.GetNode(), r.GetVg())
	_, err := s.write(ctx, "/device", func(v state.View, b *state.Build) (*state.Build, error) {
		if err := s.mayMake(v, r); err != nil {
			return nil, err
		}
		op := &model.Operation{
			Meta: newMeta(name, nil, s.Clock()), Type: model.OperationCreateVG, Node: r.GetNode(), Phase: model.OperationPending,
			VG: &model.CreateVGParams{VG: r.GetVg(), Device: r.GetDevice()},
		}
		if len(r.GetThinPools()) == 1 {
			op.VG.ThinPool = r.GetThinPools()[0]
		}
		if old, ok := state.Get[*model.Operation](v, name); ok {
			if !old.Over() {
				return nil, nil // under way: wait for that
			}
			op.Revision = old.Revision
		}
		return b.Because(fmt.Sprintf("make volume group %s on %s of node %s", r.GetVg(), r.GetDevice(), r.GetNode())).Put(op), nil
	})
	if err != nil {
		return err
	}
	return s.until(ctx, func() (bool, error) {
		op, err := find[*model.Operation](s.Store.View(), name)
		if err != nil || !op.Over() {
			return false, err
		}
		if op.Phase == model.OperationFailed {
			return false, door.Refuse(model.ErrBusy, model.Key{Kind: model.KindLVG, Name: model.LVGName(r.GetNode(), r.GetVg())},
				"make it on "+r.GetDevice()+": "+op.Result, "see `rvol operation show "+name+"`")
		}
		_, err = reportedGroup(s.Inventory.View(), r.GetNode(), r.GetVg())
		return err == nil, nil // it will be reported in a moment
	})
}

// mayMake refuses to make a group where it cannot be, or is.
func (s *lvgs) mayMake(v state.View, r *adminv1.CreateLVGRequest) error {
	n, err := find[*model.Node](v, r.GetNode())
	if err != nil {
		return err
	}
	st, ok := state.Get[*model.NodeStatus](v, n.Name)
	switch {
	case !ok || !st.Ready:
		return door.Refuse(model.ErrBusy, n.Key(), "it is not Ready", "see `rvol node show "+n.Name+"`")
	case st.Capabilities.LVM == "":
		return door.Refuse(model.ErrBusy, n.Key(), "it has no LVM: "+st.Capabilities.LVMReason, "install lvm2 there")
	}
	if agent := s.Inventory.View().Node(n.Name); agent.Known() {
		for _, vg := range agent.VGs {
			if vg.Name == r.GetVg() {
				return door.Refuse(model.ErrExists, n.Key(), "it has a volume group "+vg.Name+" already", "offer that one: leave out the device")
			}
		}
	}
	return nil
}

// until looks again whenever something changes, for as long as this coordinator leads.
func (a *api) until(ctx context.Context, look func() (bool, error)) error {
	changed := make(chan struct{}, 1) // one is enough: it means "since you last looked"
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	defer a.Store.Watch(func(uint64, []model.Key) { tell() })()
	defer a.Inventory.Watch(func(string) { tell() })()
	l := a.Leadership()
	for {
		if done, err := look(); done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-l.Changed:
			return &model.NotLeaderError{}
		case <-ctx.Done():
			return fmt.Errorf("%w: it goes on; repeat the command to wait for it", ctx.Err())
		}
	}
}
