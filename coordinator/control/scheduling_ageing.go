package control

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	for r := range v.Waiting() {
		switch {
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
	pool := p.prepare(ps)
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
		if !c.usable || occupied[c.at.Node] || drbd != "" && c.drbd != drbd {
			continue
		}
		record, ok := state.Get[*model.Capacity](v, c.pool.String())
		if !ok || !mayHold(record, size) {
			continue
		}
		c.available = record.Limit() - v.Charged(c.pool)
		if old, ok := best[c.at.Node]; !ok || c.available > old.available {
			best[c.at.Node] = c
		}
	}
	return slices.SortedFunc(maps.Values(best), func(a, b candidate) int {
		return cmp.Or(-cmp.Compare(a.available, b.available), cmp.Compare(a.at.Node, b.at.Node))
	})
}

// mayHold says that a pool could hold so much were it empty.
func mayHold(record *model.Capacity, size int64) bool {
	return !record.Missing && record.GrowthStopped == "" && record.Limit() >= size
}

// spread takes so many of the candidates as the topology wants them; nil: there are too few.
func spread(could []candidate, t layout.Topology, wanted int) []candidate {
	if len(could) < wanted {
		return nil
	}
	switch t {
	case layout.Zonal:
		for _, zone := range byZone(could) {
			if len(zone) >= wanted {
				return zone[:wanted]
			}
		}
		return nil
	case layout.TransZonal:
		return inTurn(byZone(could))[:wanted]
	default:
		return could[:wanted]
	}
}

// byZone groups the candidates, the zone of the first of them first.
func byZone(could []candidate) [][]candidate {
	at := map[string]int{}
	var zones [][]candidate
	for _, c := range could {
		i, known := at[c.zone]
		if !known {
			i = len(zones)
			at[c.zone], zones = i, append(zones, nil)
		}
		zones[i] = append(zones[i], c)
	}
	return zones
}

// inTurn takes one candidate of each zone, then the next of each.
func inTurn(zones [][]candidate) []candidate {
	var out []candidate
	for i, more := 0, true; more; i++ {
		more = false
		for _, zone := range zones {
			if i < len(zone) {
				out, more = append(out, zone[i]), true
			}
		}
	}
	return out
}

// keptFor says for whom room was kept that this volume could not have.
func keptFor(list []kept) string {
	if len(list) == 0 {
		return ""
	}
	var rooms []string
	for _, k := range list {
		rooms = append(rooms, model.HumanSize(k.bytes)+" on "+k.name)
	}
	return fmt.Sprintf("; room is kept for %s, which waits since entry %d: %s", list[0].volume, list[0].since, strings.Join(rooms, ", "))
}
