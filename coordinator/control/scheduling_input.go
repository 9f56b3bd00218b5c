package control

import (
	"maps"
	"slices"

	"rvol/coordinator/decide/allocation"
	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/scheduling"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/drbd"
)

// VolumeLayout is the layout of a configured volume.
func VolumeLayout(vs *model.VolumeStatus) layout.Layout {
	if vs.DRBD == "8.4" {
		if l, err := layout.NewDRBD84(vs.Configuration.FTT, vs.Configuration.GMDR); err == nil {
			return l
		}
	}
	return layout.Formula(vs.Configuration.FTT, vs.Configuration.GMDR)
}

// Planned is where the replicas of a volume would go.
type Planned struct {
	scheduling.Result
	Size int64 // bytes that each Diskful would take of its place
}

// Plan says where the replicas of a volume would go now, with so many alternatives for
// each. It changes nothing.
func Plan(v state.View, vol *model.Volume, vs *model.VolumeStatus, replicas []*model.Replica, alternatives int) Planned {
	in := newPlanning().input(v, vol, vs, replicas)
	in.Explain = alternatives
	return Planned{Result: scheduling.Run(in.Input), Size: in.Size}
}

// input is what the rules look at, and what more there is to say of it.
type input struct {
	scheduling.Input
	pool   *prepared // nil: there is none
	flying bool      // proposals under way count against its room
	kept   []kept
}

// explained is how many alternatives a decision keeps of each replica.
const explained = 5

// input gathers what the rules look at.
func (p *planning) input(v state.View, vol *model.Volume, vs *model.VolumeStatus, replicas []*model.Replica) input {
	in := input{Input: scheduling.Input{AttachTo: attachTo(v, vol), Explain: explained}}
	wishes := transition.Wishes(vs)
	for _, r := range replicas {
		want := wishes[r.ID]
		in.Replicas = append(in.Replicas, scheduling.Replica{
			ID: r.ID, Type: scheduling.ReplicaType(r.Type), Deleting: r.Deleting(), CreatedAt: r.CreatedAt.Unix(),
			Place:   scheduling.Place{Node: r.Node, LVG: r.VG, ThinPool: r.ThinPool},
			Want:    scheduling.Place{Node: want.Node, LVG: want.VG, ThinPool: want.ThinPool},
			Leaving: transition.Leaving(vs, r.ID),
		})
	}
	if vs.Configuration == nil {
		in.Missing = scheduling.ConfigurationMissing
		return in
	}
	cfg := vs.Configuration
	in.Topology, in.VolumeAccess = layout.Topology(cfg.Topology), scheduling.VolumeAccess(cfg.VolumeAccess)
	in.Thin, in.DRBD = cfg.PoolType == model.LVMThin, vs.DRBD
	in.Layout = VolumeLayout(vs)
	ps, ok := state.Get[*model.PoolStatus](v, cfg.Pool)
	if !ok {
		in.Missing = scheduling.PoolMissing
		return in
	}
	in.pool = p.prepare(ps)
	in.kept = p.keep(v, vol.Name, replicas)
	in.flying = p.refresh(v, in.pool, in.kept)
	in.Candidates, in.Size = in.pool.candidates, charge(vol, vs.DRBD, in.pool.extent)
	in.Refused = p.refusedTo(v, vol.Name)
	return in
}

// attachTo are the nodes on which the volume is to be used: those that were named when it was
// made, and those that have an attachment.
func attachTo(v state.View, vol *model.Volume) []string {
	nodes := slices.Clone(vol.AttachTo)
	for a := range state.Under[*model.Attachment](v, vol.Name+"/") {
		if !a.Deleting() && !slices.Contains(nodes, a.Node) {
			nodes = append(nodes, a.Node)
		}
	}
	return nodes
}

// prepared are the candidates of a storage pool, and where their room comes from.
type prepared struct {
	revision   uint64 // of the pool's status
	candidates *scheduling.Candidates
	places     []candidate
	byPool     map[string][]int // places by the name of their pool
	seen       uint64           // index up to which the ledger was followed
	moves      int              // how many of the planning's moves were followed
	kept       map[string]int64 // by pool: what was kept of it at the last look
	extent     int64            // the largest among the places, in bytes
}

// candidate is one place with the room that the candidates know of.
type candidate struct {
	at        scheduling.Place
	zone      string
	usable    bool // by itself: node and LVG are ready, and not cordoned
	drbd      string
	pool      model.PoolID
	available int64
	limit     int64
	known     bool
}

// prepare returns the candidates of a pool, made anew when its eligible nodes changed.
func (p *planning) prepare(ps *model.PoolStatus) *prepared {
	if old := p.pools[ps.Name]; old != nil && old.revision == ps.Revision {
		return old
	}
	pool := &prepared{revision: ps.Revision, extent: 1, byPool: map[string][]int{}}
	nodes := make([]scheduling.Node, 0, len(ps.EligibleNodes))
	for _, n := range ps.EligibleNodes {
		node := scheduling.Node{
			Name: n.Node, Zone: n.Zone, Ready: n.NodeReady, AgentReady: n.AgentReady,
			Unschedulable: n.Unschedulable, DRBD: n.DRBD,
		}
		for _, l := range n.LVGs {
			node.LVGs = append(node.LVGs, scheduling.LVG{Name: l.VG, ThinPool: l.ThinPool, Ready: l.Ready, Unschedulable: l.Unschedulable})
			pool.byPool[l.Pool.String()] = append(pool.byPool[l.Pool.String()], len(pool.places))
			pool.places = append(pool.places, candidate{
				at: scheduling.Place{Node: n.Node, LVG: l.VG, ThinPool: l.ThinPool}, zone: n.Zone, pool: l.Pool, drbd: n.DRBD,
				usable: n.NodeReady && n.AgentReady && !n.Unschedulable && l.Ready && !l.Unschedulable,
			})
		}
		nodes = append(nodes, node)
	}
	pool.candidates = scheduling.Prepare(nodes)
	p.pools[ps.Name] = pool
	return pool
}

// refresh brings the room of the candidates up to date: what the ledger has, less what is
// proposed and not yet in it, less what is kept for those that wait longer.
func (p *planning) refresh(v state.View, pool *prepared, keep []kept) (flying bool) {
	if v.Index() < pool.seen {
		pool.seen = 0 // another history
	}
	changed := slices.Concat(slices.Collect(v.PoolsMoved(pool.seen)), p.moves[pool.moves:], slices.Collect(maps.Keys(pool.kept)))
	pool.seen, pool.moves, pool.kept = v.Index(), len(p.moves), map[string]int64{}
	for _, k := range keep {
		pool.kept[k.pool.String()] += k.bytes
		changed = append(changed, k.pool.String())
	}
	for _, name := range changed {
		pool.measure(v, name, p.lent[name]+pool.kept[name])
	}
	return len(p.flights) > 0
}

// measure brings the room of one pool up to date.
func (pool *prepared) measure(v state.View, name string, lent int64) {
	for _, i := range pool.byPool[name] {
		c := &pool.places[i]
		record, ok := state.Get[*model.Capacity](v, name)
		if !ok {
			if c.known {
				c.known = false
				pool.candidates.SetCapacity(c.at, scheduling.Capacity{})
			}
			continue
		}
		l := ledger(record)
		pool.extent = max(pool.extent, record.ExtentSize)
		c.known, c.limit = true, allocation.Limit(l)
		c.available = max(0, allocation.Available(l, v.Charged(c.pool))-lent)
		pool.candidates.SetCapacity(c.at, scheduling.Room(c.available, c.limit))
	}
}

// peersOf is how many bitmap slots the metadata of a volume has room for.
func peersOf(drbdMajor string) int {
	if drbdMajor == "8.4" {
		return 1
	}
	return drbd.MaxPeers
}

// BackingBytes is the size of the LV for one device: DRBD's metadata included, whole extents.
func BackingBytes(usable int64, drbdMajor string, extent int64) int64 {
	return allocation.RoundUp(drbd.BackingSize(usable, peersOf(drbdMajor)), extent)
}

// charge is what one Diskful of the volume costs, over all its devices.
func charge(vol *model.Volume, drbdMajor string, extent int64) int64 {
	var n int64
	for _, d := range vol.Devices {
		n += BackingBytes(d.Size, drbdMajor, extent)
	}
	return n
}
