package control

import (
	"fmt"
	"slices"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Capacity commits, on change only, how large the offered pools of a node are, and which
// logical volume each reservation became.
type Capacity struct{}

// hysteresis is how far below its stop a thin pool must fall before it may grow again, in percent.
const hysteresis = 1

// Name is the controller's name.
func (Capacity) Name() string { return "capacity" }

// WhileReconciling says that it only writes down what agents report, or what follows from it.
func (Capacity) WhileReconciling() {}

// Affected names the node whose LVG changed.
func (Capacity) Affected(changed model.Key, _ state.View) []string {
	switch changed.Kind {
	case model.KindLVG, model.KindCapacity:
		if node, _, ok := model.SplitLVGName(changed.Name); ok {
			return []string{node}
		}
	default:
	}
	return nil
}

// AffectedBy names the node itself.
func (Capacity) AffectedBy(node string, _ state.View) []string { return []string{node} }

// All lists all nodes.
func (Capacity) All(v state.View) []string { return names[*model.Node](v) }

// Decide writes the node's capacity records and binds its reservations. It does nothing
// while the node's inventory is missing or incomplete.
func (c Capacity) Decide(w World, key string) (Outcome, error) {
	seen := w.Inventory.Node(key)
	if !seen.Known() || seen.StorageError != "" {
		return Outcome{Reason: "no complete inventory of " + key}, nil
	}
	b := state.NewTxn(Actor(c), fmt.Sprintf("node %s: what its storage holds", key))
	standing := map[string]*model.Capacity{}
	for r := range state.Under[*model.Capacity](w.State, key+"/") {
		standing[r.Name] = r
	}
	for lvg := range state.Under[*model.LVG](w.State, key+"/") {
		vg, found := seen.VG(lvg.UUID)
		for _, want := range capacities(lvg, vg, found, twins(w, lvg), standing) {
			old := standing[want.Name]
			delete(standing, want.Name)
			if old == nil || !sameCapacity(old, want) {
				if old != nil {
					want.Revision = old.Revision
				}
				b.Put(want)
			}
		}
	}
	for _, left := range standing {
		if w.State.Charged(left.Pool) == 0 {
			b.Delete(left)
		}
	}
	bind(w, seen, b)
	return Outcome{Txn: b, Again: orphans(w, seen, b)}, nil
}

// capacities works out the records of one LVG: the group's own, unless only its thin
// pools are offered, and one for each thin pool.
func capacities(l *model.LVG, vg inventory.VG, found bool, twin string, standing map[string]*model.Capacity) []*model.Capacity {
	var out []*model.Capacity
	add := func(pool model.PoolID, thin string) *model.Capacity {
		c := &model.Capacity{Pool: pool, VGName: l.VG, ThinPoolName: thin, Percent: 100}
		if old := standing[pool.String()]; old != nil {
			c = model.Clone(old) // a pool that is not seen keeps its last known size
		}
		c.Name, c.Missing = pool.String(), !found
		if c.Missing {
			c.GrowthStopped = "the node no longer reports volume group " + l.VG
		} else {
			c.GrowthStopped = twin
		}
		out = append(out, c)
		return c
	}
	if !l.ThickOff {
		pool, _ := l.Pool("")
		c := add(pool, "")
		if found {
			c.ExtentSize, c.Extents, c.ForeignExtents = vg.ExtentSize, vg.Extents, vg.ForeignExtents
			if vg.Partial {
				c.GrowthStopped = "volume group " + l.VG + " misses physical volumes"
			}
		}
	}
	for _, tp := range l.ThinPools {
		pool, _ := l.Pool(tp.Name)
		was := ""
		if old := standing[pool.String()]; old != nil {
			was = old.GrowthStopped
		}
		c := add(pool, tp.Name)
		c.Percent = l.OverProvisioningPercent
		i := slices.IndexFunc(vg.ThinPools, func(p inventory.ThinPool) bool { return p.UUID == tp.UUID })
		if i < 0 {
			c.Missing, c.GrowthStopped = true, "the node no longer reports thin pool "+tp.Name
			continue
		}
		seen := vg.ThinPools[i]
		c.ExtentSize, c.Zeroes = vg.ExtentSize, seen.Zeroes
		c.Extents = seen.Size / vg.ExtentSize
		if c.GrowthStopped == "" {
			c.GrowthStopped = stop(l, seen, was != "")
		}
	}
	return out
}

// stop says why a thin pool may not grow. Once stopped it must fall a little below the
// stop again, so that a pool at the edge does not write an entry a second.
func stop(l *model.LVG, tp inventory.ThinPool, was bool) string {
	slack := 0.0
	if was {
		slack = hysteresis
	}
	if limit := l.StopDataPercent; tp.DataPercent >= float64(limit)-slack {
		return fmt.Sprintf("data of thin pool %s reached %d %%", tp.Name, limit)
	}
	if limit := l.StopMetadataPercent; tp.MetadataPercent >= float64(limit)-slack {
		return fmt.Sprintf("metadata of thin pool %s reached %d %%", tp.Name, limit)
	}
	return ""
}

// twins says which other node reports the same volume group: cloned disks.
func twins(w World, l *model.LVG) string {
	for n := range state.All[*model.Node](w.State) {
		if n.Name == l.Node {
			continue
		}
		if _, ok := w.Inventory.Node(n.Name).VG(l.UUID); ok {
			return fmt.Sprintf("node %s reports a volume group with the same UUID %s", n.Name, l.UUID)
		}
	}
	return ""
}

func sameCapacity(a, b *model.Capacity) bool {
	return a.VGName == b.VGName && a.ThinPoolName == b.ThinPoolName && a.ExtentSize == b.ExtentSize &&
		a.Extents == b.Extents && a.ForeignExtents == b.ForeignExtents && a.Percent == b.Percent &&
		a.GrowthStopped == b.GrowthStopped && a.Missing == b.Missing && a.Zeroes == b.Zeroes
}

// bind records which LV each reservation of the node became, by our tags.
func bind(w World, seen *inventory.Node, b *state.Build) {
	for _, vg := range seen.VGs {
		for _, lv := range vg.LVs {
			if lv.Reservation == "" {
				continue
			}
			r, ok := state.Get[*model.Reservation](w.State, lv.Reservation)
			if !ok || r.Pool.Node != seen.Name || r.Pool.VG != vg.UUID {
				continue
			}
			if r.LVUUID == lv.UUID && r.Observed == lv.Size {
				continue
			}
			if r.LVUUID != "" && r.LVUUID != lv.UUID {
				continue // another LV carries our tag: the agent refuses it and says so
			}
			c := model.Clone(r)
			c.LVUUID, c.Observed = lv.UUID, lv.Size
			if c.State == model.Reserved {
				c.State = model.Bound
			}
			b.Put(c)
		}
	}
}
