package control

import (
	"fmt"
	"strings"

	"rvol/coordinator/decide/allocation"
	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/scheduling"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/drbd"
)

// Scheduling gives replicas a node, a place, numbers and their reservations, all of a
// volume's unplaced replicas in one transaction (seed 000).
type Scheduling struct{}

// Ranges of numbers handed out on each node (DESIGN 12, Names and ranges).
const (
	portFrom, portTo = 17000, 19999
	minorFrom        = 10000
	minorTo          = 1 << 20 // DRBD's own bound
)

// Name is the controller's name.
func (Scheduling) Name() string { return "scheduling" }

// Affected names the volume itself; and all that wait for a place when there may be one:
// space released, capacity grown, settings changed, a pool or node added, a node Ready again.
func (Scheduling) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindVolume, model.KindVolumeStatus:
		return []string{changed.Name}
	case model.KindReplica:
		volume, _, _ := strings.Cut(changed.Name, "/")
		if _, ok := state.Get[*model.Replica](v, changed.Name); !ok {
			return append(waiting(v), volume) // one went: its node is free again
		}
		return []string{volume}
	case model.KindReservation, model.KindCapacity, model.KindPoolStatus:
		return waiting(v)
	default:
	}
	return nil
}

// waiting lists the volumes that have a replica without a place.
func waiting(v state.View) []string {
	var out []string
	for r := range unscheduled(v) {
		if len(out) == 0 || out[len(out)-1] != r.Volume {
			out = append(out, r.Volume)
		}
	}
	return out
}

// AffectedBy names none: only committed capacity is reserved from.
func (Scheduling) AffectedBy(string, state.View) []string { return nil }

// All lists the volumes that wait.
func (Scheduling) All(v state.View) []string { return waiting(v) }

// Decide runs the rules over the volume's replicas and writes down what they chose.
func (c Scheduling) Decide(w World, key string) (Outcome, error) {
	vol, ok := state.Get[*model.Volume](w.State, key)
	vs, has := state.Get[*model.VolumeStatus](w.State, key)
	if !ok || !has {
		return Outcome{}, nil
	}
	replicas := map[int]*model.Replica{}
	var order []*model.Replica
	for r := range state.Under[*model.Replica](w.State, key+"/") {
		replicas[r.ID], order = r, append(order, r)
	}
	if !needsPlace(order) {
		return Outcome{}, nil
	}
	in := SchedulingInput(w.State, vol, vs, order)
	got := scheduling.Run(in)
	p := placing{w: w, vol: vol, vs: vs, b: state.NewTxn(Actor(c), key+": nowhere to place a replica"), taken: map[string]bool{}}
	for _, pl := range got.Replicas {
		if err := p.place(replicas[pl.ID], pl); err != nil {
			return Outcome{}, err
		}
	}
	if len(p.done) > 0 {
		p.b.Because("place " + strings.Join(p.done, ", "))
	}
	return Outcome{Txn: p.b}, nil
}

func needsPlace(rs []*model.Replica) bool {
	for _, r := range rs {
		if !r.Deleting() && r.Type != model.Access && !r.Conditions.Is("Scheduled", model.True) {
			return true
		}
	}
	return false
}

// SchedulingInput gathers what the rules look at.
func SchedulingInput(v state.View, vol *model.Volume, vs *model.VolumeStatus, replicas []*model.Replica) scheduling.Input {
	in := scheduling.Input{AttachTo: vol.AttachTo}
	if vs.Configuration == nil {
		in.Missing = scheduling.ConfigurationMissing
	} else {
		cfg := vs.Configuration
		in.Topology, in.VolumeAccess = layout.Topology(cfg.Topology), scheduling.VolumeAccess(cfg.VolumeAccess)
		in.Thin, in.DRBD = cfg.PoolType == model.LVMThin, vs.DRBD
		in.Layout = VolumeLayout(vs)
		ps, ok := state.Get[*model.PoolStatus](v, cfg.Pool)
		if ok {
			nodes, extent := Candidates(v, ps)
			in.Candidates = scheduling.Prepare(nodes)
			in.Size = charge(vol, vs.DRBD, extent)
		} else {
			in.Missing = scheduling.PoolMissing
		}
	}
	for _, r := range replicas {
		in.Replicas = append(in.Replicas, scheduling.Replica{
			ID: r.ID, Type: scheduling.ReplicaType(r.Type), Deleting: r.Deleting(), CreatedAt: r.CreatedAt.Unix(),
			Place: scheduling.Place{Node: r.Node, LVG: r.VG, ThinPool: r.ThinPool},
		})
	}
	return in
}

// VolumeLayout is the layout of a configured volume.
func VolumeLayout(vs *model.VolumeStatus) layout.Layout {
	if vs.DRBD == "8.4" {
		if l, err := layout.NewDRBD84(vs.Configuration.FTT, vs.Configuration.GMDR); err == nil {
			return l
		}
	}
	return layout.Formula(vs.Configuration.FTT, vs.Configuration.GMDR)
}

// Candidates are the eligible nodes of a pool with the room that the ledger has, and the
// largest extent size among their places.
func Candidates(v state.View, ps *model.PoolStatus) (nodes []scheduling.Node, extent int64) {
	extent = 1
	for _, n := range ps.EligibleNodes {
		node := scheduling.Node{
			Name: n.Node, Zone: n.Zone, Ready: n.NodeReady, AgentReady: n.AgentReady,
			Unschedulable: n.Unschedulable, DRBD: n.DRBD,
		}
		for _, l := range n.LVGs {
			lvg := scheduling.LVG{Name: l.VG, ThinPool: l.ThinPool, Ready: l.Ready, Unschedulable: l.Unschedulable}
			if c, ok := state.Get[*model.Capacity](v, l.Pool.String()); ok {
				p := ledger(c)
				lvg.Capacity = scheduling.Room(allocation.Available(p, v.Charged(l.Pool)), allocation.Limit(p))
				extent = max(extent, c.ExtentSize)
			}
			node.LVGs = append(node.LVGs, lvg)
		}
		nodes = append(nodes, node)
	}
	return nodes, extent
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

// placing writes down one pass.
type placing struct {
	w     World
	vol   *model.Volume
	vs    *model.VolumeStatus
	b     *state.Build
	done  []string
	taken map[string]bool // numbers given out by this pass
}

// place writes one replica's condition and, where a place was chosen, the place, its
// numbers and its reservations.
func (p *placing) place(r *model.Replica, pl scheduling.Placement) error {
	if pl.Scheduled == scheduling.Unchanged || pl.Scheduled == scheduling.Absent {
		return nil
	}
	next := model.Clone(r)
	next.Conditions = next.Conditions.With(model.Condition{
		Type: "Scheduled", Status: model.Status(pl.Scheduled), Reason: pl.Reason, Message: pl.Message,
	}, p.w.Now)
	if pl.Chosen {
		if err := p.give(next, pl); err != nil {
			return err
		}
		p.done = append(p.done, fmt.Sprintf("%s on %s", r.Name, where(pl.Place)))
	} else if c, had := r.Conditions.Get("Scheduled"); had && c.Status == model.Status(pl.Scheduled) && c.Reason == pl.Reason && c.Message == pl.Message {
		return nil
	}
	p.b.Put(next)
	return nil
}

func where(p scheduling.Place) string {
	s := "node " + p.Node
	if p.LVG != "" {
		s += ", " + p.LVG
	}
	if p.ThinPool != "" {
		s += "/" + p.ThinPool
	}
	return s
}

// give fills in the place of a replica, and reserves it.
func (p *placing) give(r *model.Replica, pl scheduling.Placement) error {
	r.Node, r.VG, r.ThinPool = pl.Place.Node, pl.Place.LVG, pl.Place.ThinPool
	node, ok := state.Get[*model.Node](p.w.State, r.Node)
	if !ok {
		return fmt.Errorf("%w: node %s", model.ErrNotFound, r.Node)
	}
	p.b.Expect(node.Key(), node.Revision) // a cordon that came in between is honoured
	var err error
	if r.Port, err = p.port(r.Node); err != nil {
		return err
	}
	for _, d := range p.vol.Devices {
		dev := model.ReplicaDevice{Number: d.Number}
		if dev.Minor, err = p.minor(r.Node); err != nil {
			return err
		}
		if r.Type == model.Diskful {
			res, err := p.reserve(r, d)
			if err != nil {
				return err
			}
			dev.Reservation = res.Name
			p.b.Put(res)
		}
		r.Devices = append(r.Devices, dev)
	}
	return nil
}

func (p *placing) reserve(r *model.Replica, d model.VolumeDevice) (*model.Reservation, error) {
	lvg, ok := state.Get[*model.LVG](p.w.State, model.LVGName(r.Node, r.VG))
	if !ok {
		return nil, fmt.Errorf("%w: LVG %s/%s", model.ErrNotFound, r.Node, r.VG)
	}
	pool, ok := lvg.Pool(r.ThinPool)
	if !ok {
		return nil, fmt.Errorf("%w: thin pool %s in LVG %s", model.ErrNotFound, r.ThinPool, lvg.Name)
	}
	c, ok := state.Get[*model.Capacity](p.w.State, pool.String())
	if !ok {
		return nil, fmt.Errorf("%w: capacity of %s", model.ErrNotFound, lvg.Name)
	}
	p.b.Expect(lvg.Key(), lvg.Revision)
	res := &model.Reservation{
		OwnerKind: model.OwnerReplica, Owner: r.Name, Device: d.Number, Pool: pool, VGName: r.VG, ThinPool: r.ThinPool,
		LV: model.LVName(r.Volume, d.Number, r.ID), Granted: BackingBytes(d.Size, p.vs.DRBD, c.ExtentSize), State: model.Reserved,
	}
	res.Name = strings.ToLower(p.w.Fresh())
	res.CreatedAt = p.w.Now
	return res, nil
}

// port is the lowest free port of a node that nobody is seen to use.
func (p *placing) port(node string) (int, error) {
	for n := portFrom; n <= portTo; n++ {
		if _, used := p.w.State.ReplicaWithPort(node, n); !used && p.take(node, "port", n) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: node %s: ports %d to %d are all taken", model.ErrNoSpace, node, portFrom, portTo)
}

// minor is the lowest free minor of a node that no resource, ours or not, has there.
func (p *placing) minor(node string) (int, error) {
	foreign := map[int]bool{}
	if seen := p.w.Inventory.Node(node); seen != nil {
		for _, r := range seen.Resources {
			for _, d := range r.Devices {
				foreign[d.Minor] = true
			}
		}
	}
	for n := minorFrom; n < minorTo; n++ {
		if _, used := p.w.State.ReplicaWithMinor(node, n); !used && !foreign[n] && p.take(node, "minor", n) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: node %s: no free DRBD minor", model.ErrNoSpace, node)
}

// take marks a number as given out by this pass; false: it already was.
func (p *placing) take(node, kind string, n int) bool {
	key := fmt.Sprintf("%s %s %d", node, kind, n)
	if p.taken[key] {
		return false
	}
	p.taken[key] = true
	return true
}
