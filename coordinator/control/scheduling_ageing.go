package control

import (
	"cmp"
	"fmt"
	"slices"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// A large volume could wait for ever while small ones take every byte that comes free.
// One that has waited for agedAfter entries of the log is therefore kept room for: of the
// places it could use, those with the most room now, one for each of its copies. Younger
// volumes get only what is more. Space that comes free there adds up until it is placed;
// so at most agedAfter entries place younger volumes before it where it could go.

// agedAfter is how many entries of the log may pass before room is kept for a volume.
const agedAfter = 100

// kept is room that is kept in one pool for a volume that waits longer.
type kept struct {
	pool   model.PoolID
	bytes  int64
	volume string
	since  uint64
	name   string // of the place
}

// keep is what must be left for the volume that waits longest, of those that wait longer
// than this one and could be placed at all.
func (p *planning) keep(v state.View, volume string, replicas []*model.Replica) []kept {
	since := since(replicas)
	for r := range v.Unscheduled() {
		switch {
		case r.WaitingSince == 0:
			continue
		case v.Index() < r.WaitingSince+agedAfter:
			return nil // nor have those that come after it
		case r.Volume == volume, since != 0 && since <= r.WaitingSince:
			return nil
		}
		if k := p.keepFor(v, r); k != nil {
			return k
		}
	}
	return nil
}

// since is the index since when one of the replicas waits; 0: none was tried yet.
func since(replicas []*model.Replica) uint64 {
	var least uint64
	for _, r := range replicas {
		if r.WaitingSince != 0 && (least == 0 || r.WaitingSince < least) {
			least = r.WaitingSince
		}
	}
	return least
}

// keepFor chooses the places for the replicas of a volume that have none; nil: there are
// not enough that could ever hold them.
func (p *planning) keepFor(v state.View, first *model.Replica) []kept {
	vol, ok := state.Get[*model.Volume](v, first.Volume)
	vs, has := state.Get[*model.VolumeStatus](v, first.Volume)
	if !ok || !has || vs.Configuration == nil {
		return nil
	}
	ps, ok := state.Get[*model.PoolStatus](v, vs.Configuration.Pool)
	if !ok {
		return nil
	}
	pool := p.prepare(v, ps)
	wanted, occupied := 0, map[string]bool{}
	for r := range state.Under[*model.Replica](v, vol.Name+"/") {
		switch {
		case r.Node != "":
			occupied[r.Node] = true
		case r.Type == model.Diskful && !r.Deleting():
			wanted++
		}
	}
	size := charge(vol, vs.DRBD, pool.extent)
	could := pool.couldHold(v, size, vs.DRBD, occupied)
	chosen := spread(could, layout.Topology(vs.Configuration.Topology), wanted)
	var out []kept
	for _, c := range chosen {
		out = append(out, kept{pool: c.pool, bytes: size, volume: vol.Name, since: first.WaitingSince, name: where(c.at)})
	}
	return out
}

// couldHold lists the best place of each node that could hold so much were it empty, those
// with the most room now first.
func (pool *prepared) couldHold(v state.View, size int64, drbd string, occupied map[string]bool) []candidate {
	best := map[string]candidate{}
	for _, c := range pool.places {
		record, ok := state.Get[*model.Capacity](v, c.pool.String())
		if !ok || !c.usable || occupied[c.at.Node] || drbd != "" && c.drbd != drbd {
			continue
		}
		if record.Missing || record.GrowthStopped != "" || record.Limit() < size {
			continue
		}
		c.available = record.Limit() - v.Charged(c.pool)
		if old, ok := best[c.at.Node]; !ok || c.available > old.available {
			best[c.at.Node] = c
		}
	}
	var out []candidate
	for _, c := range best {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(-cmp.Compare(a.available, b.available), cmp.Compare(a.at.Node, b.at.Node))
	})
	return out
}

// spread takes so many of the candidates as the topology wants them; nil: there are too few.
func spread(could []candidate, t layout.Topology, wanted int) []candidate {
	zones := map[string][]candidate{}
	var order []string
	for _, c := range could {
		if zones[c.zone] == nil {
			order = append(order, c.zone)
		}
		zones[c.zone] = append(zones[c.zone], c)
	}
	switch t {
	case layout.Zonal:
		for _, z := range order {
			if len(zones[z]) >= wanted {
				return zones[z][:wanted]
			}
		}
		return nil
	case layout.TransZonal:
		var out []candidate
		for i := 0; len(out) < wanted; i++ {
			before := len(out)
			for _, z := range order {
				if i < len(zones[z]) && len(out) < wanted {
					out = append(out, zones[z][i])
				}
			}
			if len(out) == before {
				return nil
			}
		}
		return out
	}
	if len(could) < wanted {
		return nil
	}
	return could[:wanted]
}

// keptFor says for whom room was kept that this volume could not have.
func keptFor(list []kept) string {
	if len(list) == 0 {
		return ""
	}
	s := fmt.Sprintf("; room is kept for %s, which waits since entry %d:", list[0].volume, list[0].since)
	for i, k := range list {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprintf(" %s on %s", model.HumanSize(k.bytes), k.name)
	}
	return s
}
