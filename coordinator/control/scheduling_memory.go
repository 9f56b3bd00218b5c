package control

import (
	"errors"
	"strings"
	"sync/atomic"

	"rvol/coordinator/decide/scheduling"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// planning is what a leader remembers between placements. Any of it may be forgotten at
// any time: the state alone says what is taken.
type planning struct {
	turnstile
	pools   map[string]*prepared
	flights map[string]flight                        // by volume: proposed, its outcome not known yet
	lent    map[string]int64                         // by pool: bytes that they take
	numbers map[number]bool                          // that they take
	moves   []string                                 // pools whose lent has changed, one after the other
	refused map[string]map[scheduling.Place]refusing // by volume
	woken   atomic.Uint64                            // index at which all that wait were woken last
	next    map[string]int                           // by node and kind of number: where to look for a free one
}

func newPlanning() *planning {
	return &planning{
		pools: map[string]*prepared{}, flights: map[string]flight{}, lent: map[string]int64{}, numbers: map[number]bool{},
		refused: map[string]map[scheduling.Place]refusing{}, next: map[string]int{},
	}
}

// flight is what one proposal takes.
type flight struct {
	bytes   map[model.PoolID]int64
	numbers map[number]bool
}

// number is a port or minor of a node.
type number struct {
	node, kind string
	n          int
}

func newFlight() flight {
	return flight{bytes: map[model.PoolID]int64{}, numbers: map[number]bool{}}
}

// fly counts what a proposal takes as taken until its outcome is known.
func (p *planning) fly(volume string, f flight) {
	p.flights[volume] = f
	p.count(f, 1)
}

// land ends the flight of a volume's proposal.
func (p *planning) land(volume string) {
	p.count(p.flights[volume], -1)
	delete(p.flights, volume)
}

func (p *planning) count(f flight, sign int64) {
	for pool, n := range f.bytes {
		name := pool.String()
		if p.lent[name] += sign * n; p.lent[name] == 0 {
			delete(p.lent, name)
		}
		p.moves = append(p.moves, name)
	}
	for n := range f.numbers {
		p.numbers[n] = sign > 0
		if sign < 0 {
			delete(p.numbers, n)
		}
	}
	if len(p.moves) > mostMoves { // every pool is measured anew
		p.moves, p.pools = nil, map[string]*prepared{}
	}
}

// mostMoves is how many changes of what is lent are remembered.
const mostMoves = 100_000

// refusing is a pool that refused a volume, as it was just after.
type refusing struct {
	pool     model.PoolID
	capacity uint64 // revision of its capacity
	charged  int64
}

// landed ends the flight of a volume's proposal. A pool that refused it is not asked again
// by this volume until it has changed.
func (p *planning) landed(w World, volume string, err error) {
	p.land(volume)
	if err == nil {
		delete(p.refused, volume)
		return
	}
	refusal, ok := errors.AsType[*model.Refusal](err)
	if !ok || refusal.Constraint != model.ConstraintCapacity {
		return
	}
	v := w.State
	if w.Latest != nil {
		v = w.Latest()
	}
	name, _ := strings.CutPrefix(refusal.Object, "pool ")
	node, rest, _ := strings.Cut(name, "/")
	vg, thin, _ := strings.Cut(rest, "/")
	l, ok := state.Get[*model.LVG](v, model.LVGName(node, vg))
	if !ok {
		return
	}
	pool, _ := l.Pool(thin)
	if p.refused[volume] == nil {
		p.refused[volume] = map[scheduling.Place]refusing{}
	}
	p.refused[volume][scheduling.Place{Node: node, LVG: vg, ThinPool: thin}] = refusing{
		pool: pool, capacity: capacityRevision(v, pool), charged: v.Charged(pool),
	}
}

// refusedTo lists the places that refused a volume and have not changed for the better.
func (p *planning) refusedTo(v state.View, volume string) []scheduling.Place {
	var out []scheduling.Place
	for at, r := range p.refused[volume] {
		if v.Charged(r.pool) < r.charged || capacityRevision(v, r.pool) != r.capacity {
			delete(p.refused[volume], at)
			continue
		}
		out = append(out, at)
	}
	return out
}

func capacityRevision(v state.View, pool model.PoolID) uint64 {
	c, ok := state.Get[*model.Capacity](v, pool.String())
	if !ok {
		return 0
	}
	return c.Revision
}
