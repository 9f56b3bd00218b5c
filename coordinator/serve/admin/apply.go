package admin

import (
	"context"
	"errors"
	"fmt"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

type objects struct {
	adminv1.UnimplementedObjectsServer
	*api
}

// Results of applying an object.
const (
	created   = "created"
	changed   = "changed"
	unchanged = "unchanged"
)

// Apply creates what is not there and changes what differs. Everything is checked before
// anything is written.
func (s *objects) Apply(ctx context.Context, r *adminv1.ApplyRequest) (*adminv1.ApplyResponse, error) {
	out, coming := &adminv1.ApplyResponse{}, map[model.Key]bool{}
	for _, w := range r.GetObjects() {
		p, err := planned(ctx, s.Store.View(), s.Inventory.View(), w, coming)
		if err != nil {
			return nil, err
		}
		key := p.object.Key()
		if coming[key] {
			return nil, door.Invalid(key, "it is there twice")
		}
		coming[key] = true
		out.Applied = append(out.Applied, &adminv1.Applied{
			Kind: string(key.Kind), Name: key.Name, Result: p.result(), Differences: p.differences,
		})
	}
	if r.GetDryRun() {
		return out, nil
	}
	for i, w := range r.GetObjects() {
		rev, err := s.write(ctx, fmt.Sprintf("/%d", i), func(v state.View, b *state.Build) (*state.Build, error) {
			p, err := planned(ctx, v, s.Inventory.View(), w, nil)
			if err != nil || p.result() == unchanged {
				return nil, err
			}
			for _, o := range p.holds {
				b.Expect(o.Key(), o.Info().Revision)
			}
			return b.Because(p.cause()).Put(p.object), nil
		})
		if err != nil {
			return nil, partly(err, i)
		}
		out.Applied[i].Revision = rev
	}
	return out, nil
}

// partly says of a refusal that came after something was written.
func partly(err error, before int) error {
	refused, ok := errors.AsType[*door.Refused](err)
	if !ok || before == 0 {
		return err
	}
	told := *refused
	told.Next = "what stands before it is applied: put this right and apply the whole again"
	return &told
}

// plan is what applying one object comes to.
type plan struct {
	object      model.Object
	new         bool
	differences []*adminv1.Difference
	holds       []model.Object // must still be as they were looked at
}

func (p plan) result() string {
	switch {
	case p.new:
		return created
	case len(p.differences) > 0:
		return changed
	}
	return unchanged
}

func (p plan) cause() string {
	key := p.object.Key()
	what := string(key.Kind) + " " + key.Name
	if p.new {
		return "make " + what
	}
	return causeOf(what, p.differences)
}

// planned works out what applying one object comes to. coming are those before it in a
// request that is not carried out yet.
func planned(ctx context.Context, v state.View, seen inventory.View, w *adminv1.Wanted, coming map[model.Key]bool) (plan, error) {
	name, given := w.GetSpec().GetName(), w.GetGiven()
	switch o := w.GetSpec().GetObject().(type) {
	case *adminv1.Spec_Node:
		return planNode(v, name, o.Node, given)
	case *adminv1.Spec_Lvg:
		return planLVG(v, seen, name, o.Lvg, given)
	case *adminv1.Spec_Pool:
		return planPool(v, name, o.Pool, given)
	case *adminv1.Spec_Class:
		return planClass(v, name, o.Class, given, coming)
	case *adminv1.Spec_Volume:
		return planVolume(v, name, o.Volume, given, coming)
	case *adminv1.Spec_Quota:
		return planQuota(ctx, v, name, o.Quota, given)
	}
	return plan{}, fmt.Errorf("%w: object %q says not of which kind it is", model.ErrInvalid, name)
}

func planPool(v state.View, name string, r *adminv1.PoolSpec, given []string) (plan, error) {
	if old, ok := state.Get[*model.Pool](v, name); ok {
		p, diff, err := changedPool(old, r, given)
		return plan{object: p, differences: diff}, err
	}
	p, err := newPool(name, r)
	if err != nil {
		return plan{}, err
	}
	return plan{object: p, new: true, differences: differences(nil, poolSpec(p))}, nil
}

func planClass(v state.View, name string, r *adminv1.ClassSpec, given []string, coming map[model.Key]bool) (plan, error) {
	if old, ok := state.Get[*model.Class](v, name); ok {
		c, diff, err := changedClass(v, old, r, given)
		return plan{object: c, differences: diff}, err
	}
	c, err := newClass(name, r)
	if err != nil {
		return plan{}, err
	}
	is := set(given)
	if numbers := is["ftt"] && is["gmdr"]; !numbers && !is["replication"] {
		return plan{}, door.Invalid(c.Key(), "say what its volumes outlive: ftt and gmdr, or replication")
	}
	out := plan{object: c, new: true, differences: differences(nil, classSpec(c))}
	if c.Pool != "" && !coming[model.Key{Kind: model.KindPool, Name: c.Pool}] {
		pool, err := namedPool(v, c)
		if err != nil {
			return plan{}, err
		}
		out.holds = append(out.holds, pool)
	}
	return out, nil
}
