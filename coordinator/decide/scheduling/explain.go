package scheduling

import (
	"cmp"
	"slices"
)

// A rival is one candidate as it fared, kept small: there may be tens of thousands, of which a few are told.
type rival struct {
	choice
	chosen bool
	out    verdict
	lvgs   int32 // candidates of its node that survived
}

// explain lists the candidates one by one: the best first, the excluded ones last.
func (s *step) explain(d *Diagnosis, best *choice) {
	all, surviving := s.rivals(best)
	told := bestRivals(all, s.in.Explain)
	d.Omitted = len(all) - len(told)
	d.Alternatives = make([]Alternative, 0, len(told))
	for _, r := range told {
		d.Alternatives = append(d.Alternatives, s.alternative(r, surviving))
	}
}

// bestRivals is the first few of all in their order.
func bestRivals(all []rival, few int) []rival {
	if few >= len(all)/4 {
		slices.SortFunc(all, compareRivals)
		return all[:min(len(all), few)]
	}
	told := make([]rival, 0, few+1)
	for _, r := range all {
		if len(told) == few && compareRivals(r, told[few-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(told, r, compareRivals)
		told = slices.Insert(told, at, r)
		told = told[:min(few, len(told))]
	}
	return told
}

func compareRivals(a, b rival) int {
	return cmp.Or(
		cmp.Compare(a.rank(), b.rank()), -cmp.Compare(a.score, b.score),
		cmp.Compare(a.node, b.node), cmp.Compare(a.place, b.place),
	)
}

func (r rival) rank() int {
	switch {
	case r.chosen:
		return 0
	case r.out == kept:
		return 1
	}
	return 2
}

// rivals is every candidate with its score, and how many nodes of each zone survived.
func (s *step) rivals(best *choice) (all []rival, surviving []int) {
	surviving = make([]int, len(s.zones))
	if s.replica.Type == TieBreaker {
		for i := range s.nodes {
			n := &s.nodes[i]
			r := rival{choice: choice{node: i, place: noPlace}, out: min(n.out, s.outNodes[i], s.outZones[n.zone])}
			r.chosen = best != nil && best.node == i
			all = append(all, r)
		}
		return all, surviving
	}
	all = make([]rival, 0, len(s.places))
	for i := range s.nodes {
		all = s.rivalsOn(i, all)
		if last := len(all); last > 0 && all[last-1].node == i && all[last-1].lvgs > 0 {
			surviving[s.nodes[i].zone]++
		}
	}
	for i := range all {
		r := &all[i]
		r.chosen = best != nil && best.node == r.node && best.place == r.place
		if r.out == kept {
			r.score += s.zonePoints(r.node, surviving)
		}
	}
	return all, surviving
}

// rivalsOn adds the candidates of one node.
func (s *step) rivalsOn(i int, all []rival) []rival {
	n, first := &s.nodes[i], len(all)
	lvgs := int32(0)
	for p := n.first; p < n.last; p++ {
		r := rival{choice: choice{node: i, place: int(p)}, out: min(n.out, s.places[p].out, s.outNodes[i], s.outZones[n.zone])}
		if r.out == kept {
			r.out = s.verdictOnPlace(p)
		}
		if r.out == kept {
			lvgs++
			r.score = s.places[p].room.rate(s.in.Size)
		}
		all = append(all, r)
	}
	if lvgs == 0 {
		return all
	}
	points := s.nodePoints(i, int(lvgs))
	for j := first; j < len(all); j++ {
		all[j].lvgs = lvgs
		if all[j].out == kept {
			all[j].score += points
		}
	}
	return all
}

func (s *step) zonePoints(node int, surviving []int) (points int64) {
	for _, f := range s.inForce {
		if f.zones != nil {
			points += f.zones(s, surviving[s.nodes[node].zone])
		}
	}
	return points
}

// alternative tells of one candidate: what its score is made of, or what excluded it.
func (s *step) alternative(r rival, surviving []int) Alternative {
	a := Alternative{
		Place: s.placeOf(r.choice), Zone: s.zones[s.nodes[r.node].zone], Chosen: r.chosen, ExcludedBy: r.out.says(),
	}
	if r.place == noPlace {
		return a
	}
	room := &s.places[r.place].room
	a.Capacity = room.kind.String()
	if room.kind == capacityKnown {
		a.Available = room.available
	}
	if r.out != kept {
		return a
	}
	a.add("capacity", room.rate(s.in.Size))
	for _, f := range s.inForce {
		if f.nodes != nil {
			a.add(f.says, f.nodes(s, group{node: r.node, lvgs: int(r.lvgs)}))
		}
	}
	for _, f := range s.inForce {
		if f.zones != nil {
			a.add(f.says, f.zones(s, surviving[s.nodes[r.node].zone]))
		}
	}
	return a
}

func (a *Alternative) add(rule string, points int64) {
	if points != 0 {
		a.Score += points
		a.Parts = append(a.Parts, Part{Rule: rule, Points: points})
	}
}

// compareAlternatives orders what is told when the search has changed what is chosen.
func compareAlternatives(a, b Alternative) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), -cmp.Compare(a.Score, b.Score))
}

func (a Alternative) rank() int {
	switch {
	case a.Chosen:
		return 0
	case a.ExcludedBy == "":
		return 1
	}
	return 2
}
