package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rvol/coordinator/decide/scheduling"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Ranges of numbers handed out on each node (DESIGN 12, Names and ranges).
const (
	portFrom, portTo = 17000, 19999
	minorFrom        = 10000
	minorTo          = 1<<20 - 1 // DRBD's own bound
)

// placing writes down one pass.
type placing struct {
	w      World
	plan   *planning
	vol    *model.Volume
	vs     *model.VolumeStatus
	in     input
	got    scheduling.Result
	b      *state.Build
	flight flight
}

// write writes the places of all replicas when they have all got one, and otherwise why
// they have not; and the decision either way.
func (p *placing) write(replicas []*model.Replica) error {
	byID := map[int]*model.Replica{}
	for _, r := range replicas {
		byID[r.ID] = r
	}
	var done []string
	for _, pl := range p.got.Replicas {
		r := byID[pl.ID]
		switch {
		case pl.Scheduled == scheduling.Unchanged || pl.Scheduled == scheduling.Absent:
		case !p.got.Whole():
			p.refuse(r, pl)
		case pl.Chosen:
			if err := p.place(r, pl); err != nil {
				return err
			}
			done = append(done, fmt.Sprintf("%s on %s", r.Name, where(pl.Place)))
		default:
			p.say(model.Clone(r), r, pl.Scheduled, pl.Reason, pl.Message)
		}
	}
	if len(done) > 0 {
		p.b.Because("place " + strings.Join(done, ", "))
	}
	if p.b.Empty() {
		return nil
	}
	return p.decide(len(done) > 0)
}

// refuse says why a replica has no place, or does not take the one that was found for it.
func (p *placing) refuse(r *model.Replica, pl scheduling.Placement) {
	next := model.Clone(r)
	if pl.Scheduled == scheduling.Unknown {
		p.say(next, r, pl.Scheduled, pl.Reason, pl.Message)
		return
	}
	if pl.Scheduled == scheduling.True && !pl.Chosen {
		return // it had its place before
	}
	message, reason := pl.Message, pl.Reason
	if pl.Chosen {
		message, reason = nowhere(p.got, pl.Place), scheduling.ReasonSchedulingFailed
	}
	if next.WaitingSince == 0 {
		next.WaitingSince = max(1, p.w.State.Index())
	}
	p.say(next, r, scheduling.False, reason, message+keptFor(p.in.kept)+p.lacking(r))
}

// amounts begins what a refusal says of numbers. They are those of the time it was written:
// a refusal that differs in them alone is not written again.
const amounts = "; at entry "

// named is how many pools a refusal names.
const named = 3

// lacking says which pools lack what for a Diskful replica, those that lack least first.
func (p *placing) lacking(r *model.Replica) string {
	if r.Type != model.Diskful || p.in.pool == nil {
		return ""
	}
	var short []candidate
	for _, c := range p.in.pool.places {
		if c.usable && c.known && c.available < p.in.Size && (r.Node == "" || r.Node == c.at.Node) {
			short = append(short, c)
		}
	}
	if len(short) == 0 {
		return ""
	}
	slices.SortStableFunc(short, func(a, b candidate) int { return -cmp.Compare(a.available, b.available) })
	var lacks []string
	for _, c := range short[:min(named, len(short))] {
		lacks = append(lacks, fmt.Sprintf("%s lacks %s", c.at, model.HumanSize(p.in.Size-c.available)))
	}
	s := fmt.Sprintf("%s%d, of %s asked: %s", amounts, p.w.State.Index(), model.HumanSize(p.in.Size), strings.Join(lacks, ", "))
	if more := len(short) - named; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

func withoutAmounts(message string) string {
	base, _, _ := strings.Cut(message, amounts)
	return base
}

// say puts the condition Scheduled, when it says something new.
func (p *placing) say(next, was *model.Replica, status scheduling.Status, reason, message string) {
	c := model.Condition{Type: "Scheduled", Status: model.Status(status), Reason: reason, Message: message}
	if old, had := was.Conditions.Get("Scheduled"); had && old.Status == c.Status && old.Reason == reason && withoutAmounts(old.Message) == withoutAmounts(message) {
		return
	}
	next.Conditions = next.Conditions.With(c, p.w.Now)
	p.b.Put(next)
}

// place fills in the place of a replica with its numbers, and reserves it.
func (p *placing) place(was *model.Replica, pl scheduling.Placement) error {
	r := model.Clone(was)
	r.Node, r.VG, r.ThinPool, r.WaitingSince = pl.Place.Node, pl.Place.LVG, pl.Place.ThinPool, 0
	if err := p.number(r); err != nil {
		return err
	}
	p.say(r, was, pl.Scheduled, pl.Reason, pl.Message)
	return nil
}

// numberAccess gives Access replicas their numbers: their nodes are given.
func (p *placing) numberAccess(replicas []*model.Replica) error {
	for _, was := range replicas {
		if !unnumbered(was) {
			continue
		}
		r := model.Clone(was)
		if err := p.number(r); err != nil {
			return err
		}
		p.b.Put(r).Because("place " + r.Name + " on node " + r.Node)
	}
	return nil
}

// number gives a placed replica its port and minors, and reserves what its devices need. A
// number that it has it keeps.
func (p *placing) number(r *model.Replica) error {
	node, ok := state.Get[*model.Node](p.w.State, r.Node)
	if !ok {
		return fmt.Errorf("%w: node %s", model.ErrNotFound, r.Node)
	}
	p.b.Expect(node.Key(), node.Revision) // a cordon that came in between is honoured
	var err error
	if r.Port == 0 { // else its node was given before
		if r.Port, err = p.free("port", r.Node, portFrom, portTo, p.portTaken); err != nil {
			return err
		}
	}
	had := map[int]int{}
	for _, d := range r.Devices {
		had[d.Number] = d.Minor
	}
	r.Devices = nil
	for _, d := range p.vol.Devices {
		dev := model.ReplicaDevice{Number: d.Number, Minor: had[d.Number]}
		if dev.Minor == 0 {
			if dev.Minor, err = p.free("minor", r.Node, minorFrom, minorTo, p.minorTaken(r.Node)); err != nil {
				return err
			}
		}
		if r.Type == model.Diskful {
			res, err := p.reserve(r, d)
			if err != nil {
				return err
			}
			dev.Reservation = res.Name
			p.b.Put(res)
			p.flight.bytes[res.Pool] += res.Granted
		}
		r.Devices = append(r.Devices, dev)
	}
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

func (p *placing) reserve(r *model.Replica, d model.VolumeDevice) (*model.Reservation, error) {
	lvg, pool, c, err := poolOf(p.w.State, r.Node, r.VG, r.ThinPool)
	if err != nil {
		return nil, err
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

// poolOf finds the LVG of a place, the identity of the pool in it, and its capacity.
func poolOf(v state.View, node, vg, thin string) (*model.LVG, model.PoolID, *model.Capacity, error) {
	lvg, ok := state.Get[*model.LVG](v, model.LVGName(node, vg))
	if !ok {
		return nil, model.PoolID{}, nil, fmt.Errorf("%w: LVG %s/%s", model.ErrNotFound, node, vg)
	}
	pool, ok := lvg.Pool(thin)
	if !ok {
		return nil, pool, nil, fmt.Errorf("%w: thin pool %s in LVG %s", model.ErrNotFound, thin, lvg.Name)
	}
	c, ok := state.Get[*model.Capacity](v, pool.String())
	if !ok {
		return nil, pool, nil, fmt.Errorf("%w: node %s has not reported volume group %s yet: wait until `rvol lvg show %s` says Ready", model.ErrUnavailable, node, vg, lvg.Name)
	}
	return lvg, pool, c, nil
}

// free is a number of a node that nobody has, nor is about to have.
func (p *placing) free(kind, node string, from, to int, taken func(node string, n int) bool) (int, error) {
	at := node + " " + kind
	n := max(from, p.plan.next[at])
	for range to - from + 1 {
		if n > to {
			n = from
		}
		num := number{node, kind, n}
		if !taken(node, n) && !p.flight.numbers[num] && !p.plan.numbers[num] {
			p.flight.numbers[num] = true
			p.plan.next[at] = n + 1
			return n, nil
		}
		n++
	}
	return 0, fmt.Errorf("%w: node %s: %ss %d to %d are all taken", model.ErrNoSpace, node, kind, from, to)
}

// portTaken says which ports replicas have, and what the node holds of forgotten ones.
func (p *placing) portTaken(node string, n int) bool {
	if seen := p.w.Inventory.Node(node); seen != nil {
		for _, k := range seen.Kept {
			if k.Port == n {
				return true
			}
		}
	}
	_, used := p.w.State.ReplicaWithPort(node, n)
	return used
}

// minorTaken says which minors replicas have, or any resource of the node's kernel, ours or not.
func (p *placing) minorTaken(node string) func(string, int) bool {
	seen := map[int]bool{}
	if n := p.w.Inventory.Node(node); n != nil {
		for _, r := range n.Resources {
			for _, d := range r.Devices {
				seen[d.Minor] = true
			}
		}
	}
	return func(node string, n int) bool {
		_, used := p.w.State.ReplicaWithMinor(node, n)
		return used || seen[n]
	}
}
