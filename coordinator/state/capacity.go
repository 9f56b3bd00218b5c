package state

import (
	"fmt"
	"maps"
	"slices"

	"rvol/coordinator/model"
)

// checkCapacity refuses growth past the limit of a pool, counted over the whole
// transaction. Shrinking, importing what already exists, and a limit that fell below
// the sum are always accepted.
func checkCapacity(d *draft) *model.Refusal {
	pools := balances(d)
	for _, key := range slices.Sorted(maps.Keys(pools)) {
		o, _ := d.after(model.Key{Kind: model.KindCapacity, Name: key}.String())
		capacity, _ := o.(*model.Capacity)
		if reason := pools[key].refuses(capacity); reason != "" {
			b := pools[key]
			return &model.Refusal{
				Constraint: model.ConstraintCapacity, Object: b.name,
				Asked: b.change, Available: b.available(capacity), Reason: reason,
			}
		}
	}
	return nil
}

// balances adds up what a draft changes of each pool.
func balances(d *draft) map[string]*balance {
	pools := map[string]*balance{}
	at := func(r *model.Reservation) *balance {
		key := r.Pool.String()
		if pools[key] == nil {
			before, _ := d.charged.Get(key)
			pools[key] = &balance{before: before, name: poolName(r)}
		}
		return pools[key]
	}
	for _, c := range d.changes {
		before, was := c.before.(*model.Reservation)
		after, is := c.after.(*model.Reservation)
		if was && is && before.Pool == after.Pool {
			asked, found := growth(before, after)
			at(after).add(asked, found)
			continue
		}
		if was {
			at(before).change -= before.Charge()
		}
		switch {
		case is && after.Imported && !was:
			at(after).add(0, after.Charge())
		case is:
			at(after).add(growth(&model.Reservation{}, after))
		}
	}
	return pools
}

// growth is how much more a reservation costs: what was asked for, which may be refused,
// and what was found to be there already, which cannot be undone by refusing it.
func growth(before, after *model.Reservation) (asked, found int64) {
	asked = after.Charge() - before.Charge()
	if claim := max(before.Charge(), after.Granted, after.Pending); asked > 0 {
		found = max(0, after.Charge()-claim)
		asked -= found
	}
	return asked, found
}

// balance is one pool's account over a transaction, in bytes.
type balance struct {
	name     string
	before   int64 // sum of the charges before
	change   int64
	imported int64 // what was there already when it was first seen
}

func (b *balance) add(asked, found int64) { b.change, b.imported = b.change+asked, b.imported+found }

// refuses gives the reason why the pool may not grow as it would, or "".
func (b *balance) refuses(c *model.Capacity) string {
	switch {
	case b.change <= 0:
		return ""
	case c == nil:
		return fmt.Sprintf("%s asked, but its size is not known: no report of it has been recorded", model.HumanSize(b.change))
	case c.Missing:
		return fmt.Sprintf("%s asked, but the node no longer reports it", model.HumanSize(b.change))
	case c.GrowthStopped != "":
		return fmt.Sprintf("%s asked, but nothing may grow there: %s", model.HumanSize(b.change), c.GrowthStopped)
	case b.change+b.imported <= c.Limit()-b.before:
		return ""
	default:
		return fmt.Sprintf("%s asked, %s available of %s", model.HumanSize(b.change), model.HumanSize(b.available(c)), model.HumanSize(c.Limit()))
	}
}

func (b *balance) available(c *model.Capacity) int64 {
	if c == nil || c.Missing || c.GrowthStopped != "" {
		return 0
	}
	return max(0, c.Limit()-b.before-b.imported)
}

// poolName names a pool as people know it: "pool n1/vg0/tp0".
func poolName(r *model.Reservation) string {
	name := "pool " + model.LVGName(r.Pool.Node, r.VGName)
	if r.ThinPool != "" {
		name += "/" + r.ThinPool
	}
	return name
}
