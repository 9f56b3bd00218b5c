package scheduling

import (
	"fmt"
	"slices"
	"strings"

	"rvol/coordinator/decide/layout"
)

// The rules place one replica after another and never take a choice back. They fail though the whole layout would fit
// when an early choice took the only place of a later replica, when the least loaded zone has no usable node or no
// room, when a half-placed replica is in the way of itself by its zone, and when an attach bonus chose a zone that
// cannot hold the rest.
//
// The search then starts over from what was placed before this pass. All Diskful without a node are alike, so it
// need not try nodes: it counts, per zone, the nodes with room and the nodes without a replica, and looks for numbers
// per zone that add up. That is exact, and its effort is bounded by the zones, not by the nodes.
// It never breaks the promise of the topology: Zonal stays in one zone; TransZonal survives the loss of any one.

// search looks for a place of the whole layout, and takes it when there is one.
func (r *run) search(unplaced []int) *Search {
	f := r.survey()
	found := &Search{Why: r.why(unplaced)}
	if f.stuck != "" {
		found.Says = "no placement of the whole layout: " + f.stuck
		return found
	}
	numbers, why := f.spreadOver(r.in.Topology)
	if numbers == nil {
		found.Says = "no placement of the whole layout: " + why
		return found
	}
	found.Found = true
	found.Says = "placement of the whole layout: " + r.adopt(f.assign(numbers))
	return found
}

// why is what the rules say of the replicas that they left without a place.
func (r *run) why(unplaced []int) string {
	parts := make([]string, len(unplaced))
	for i, u := range unplaced {
		parts[i] = fmt.Sprintf("replica %d (%s): %s", r.placements[u].ID, r.placements[u].Type, r.placements[u].Message)
	}
	return strings.Join(parts, "; ")
}

// adopt gives replicas the places of the search, and tells which.
func (r *run) adopt(places []assignment) string {
	parts := make([]string, len(places))
	for i, a := range places {
		p := &r.placements[a.replica]
		p.Place, p.Chosen = r.placeOf(a.choice), true
		p.set(True, ReasonScheduled, saysScheduled)
		p.Diagnosis.BySearch = true
		p.Diagnosis.choose(r.told(a))
		parts[i] = fmt.Sprintf("replica %d on %s", p.ID, p.Place)
	}
	return strings.Join(parts, ", ")
}

// told is what is told of a place of the search that is not among the best by the rules.
func (r *run) told(a assignment) Alternative {
	s := &step{run: r, replica: r.in.Replicas[a.replica]}
	return s.alternative(rival{choice: a.choice, out: kept})
}

// choose marks the place of the search among the alternatives, in place of the last one if it is none of them.
func (d *Diagnosis) choose(at Alternative) {
	there := slices.ContainsFunc(d.Alternatives, func(a Alternative) bool { return a.Place == at.Place })
	if last := len(d.Alternatives) - 1; !there && last >= 0 {
		d.Alternatives[last] = at
	}
	for i := range d.Alternatives {
		d.Alternatives[i].Chosen = d.Alternatives[i].Place == at.Place
	}
	slices.SortStableFunc(d.Alternatives, compareAlternatives)
}

// String is the place as people write it: node/lvg/thin-pool.
func (p Place) String() string {
	given := slices.DeleteFunc([]string{p.Node, p.LVG, p.ThinPool}, func(part string) bool { return part == "" })
	return strings.Join(given, "/")
}

// An assignment gives one replica a place.
type assignment struct {
	replica int
	choice  choice
}

// A field is what the search may choose from.
type field struct {
	*run
	layout      layout.Layout
	zones       []zoneField
	diskful     []int        // replicas without a node
	tieBreakers []int        // the same
	assigned    []assignment // of replicas that have a node and need an LVG on it
	stuck       string       // why nothing can be found
}

// A zoneField is what one zone has to offer, beside what it holds already.
type zoneField struct {
	holds zoneLoad // replicas that stay
	fit   []choice // nodes with room for a Diskful, best first; as many as may be asked for
	spare []int    // nodes without a replica, by name; as many as may be asked for
	fits  int      // how many nodes have room
	free  int      // how many nodes have no replica
}

// survey forgets what this pass chose and looks at all that there is.
func (r *run) survey() *field {
	f := &field{layout: r.voters()}
	scratch := make([]Placement, len(r.placements))
	f.run = newRun(r.in, scratch)
	f.zones = make([]zoneField, len(f.Candidates.zones))
	f.settle()
	for _, i := range f.waiting(Diskful) {
		if f.in.Replicas[i].Place.Node == "" {
			f.diskful = append(f.diskful, i)
		} else {
			f.finish(i)
		}
	}
	f.tieBreakers = f.waiting(TieBreaker)
	f.count()
	f.look()
	return f
}

// finish picks an LVG for a replica that has a node. Its zone was chosen with the node.
func (f *field) finish(i int) {
	s := f.newStep(i)
	clearMarks(s.outZones)
	best := s.pick()
	if best == nil {
		f.stuck = fmt.Sprintf("replica %d has node %s, and there: %s",
			f.in.Replicas[i].ID, f.in.Replicas[i].Place.Node, s.diagnose(nil).message())
		return
	}
	f.assigned = append(f.assigned, assignment{replica: i, choice: *best})
}

// count counts, per zone, the replicas that have a node and stay.
func (f *field) count() {
	for _, replica := range f.in.Replicas {
		first, last := f.find(replica.Place.Node)
		if first == last || replica.Deleting {
			continue
		}
		switch holds := &f.zones[f.nodes[first].zone].holds; replica.Type {
		case Diskful:
			holds.diskful++
		case TieBreaker:
			holds.tieBreakers++
		case Access:
		}
	}
}

// look finds the nodes without a replica, and those of them that have room.
func (f *field) look() {
	asked := len(f.diskful) + len(f.tieBreakers)
	s := f.newStepFor(Replica{Type: Diskful})
	clearMarks(s.outZones)
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.out != kept || s.outNodes[i] != kept {
			continue
		}
		z := &f.zones[n.zone]
		if z.free++; z.free <= asked {
			z.spare = append(z.spare, i)
		}
		var best zoneBest
		if s.rateNode(i, n, &best); best.surviving > 0 {
			z.fits++
			z.offer(best.choice, len(f.diskful))
		}
	}
}

// offer keeps the best choices, so many as may be asked for.
func (z *zoneField) offer(c choice, asked int) {
	at, _ := slices.BinarySearchFunc(z.fit, c, compareChoices)
	if at < asked {
		z.fit = slices.Insert(z.fit, at, c)
		z.fit = z.fit[:min(len(z.fit), asked)]
	}
}
