package scheduling

import (
	"cmp"
	"math"
	"slices"
)

// A rival is one candidate as it fared, kept small: there may be tens of thousands, of which a few are told.
type rival struct {
	choice
	out  verdict
	lvgs int32 // candidates of its node that survived
}

// explain lists the candidates one by one: the best first, the excluded ones last.
func (s *step) explain(d *Diagnosis, best *choice) {
	told := s.survivors()
	if len(told) < s.in.Explain {
		told = s.addExcluded(told)
	}
	d.Omitted = d.Candidates - len(told)
	d.Alternatives = make([]Alternative, 0, len(told))
	for _, r := range told {
		a := s.alternative(r)
		a.Chosen = best != nil && best.node == r.node && best.place == r.place
		d.Alternatives = append(d.Alternatives, a)
	}
}

func compareRivals(a, b rival) int { return compareChoices(a.choice, b.choice) }

// survivors are the best of the candidates that no rule excluded, in their order.
func (s *step) survivors() []rival {
	enough := 2*s.in.Explain + 16
	best := make([]rival, 0, min(enough+8, len(s.places)+len(s.nodes)))
	floor, full := int64(0), false // what is no better is not among the best
	reach := s.mostWithZones()
	for i, bound := range s.rated {
		if bound == nothing || full && bound != unbounded && int64(bound)+reach <= floor {
			continue
		}
		best = s.survivorsOn(i, best)
		if len(best) >= enough {
			slices.SortFunc(best, compareRivals)
			best = best[:s.in.Explain]
			floor, full = best[s.in.Explain-1].score, true
		}
	}
	slices.SortFunc(best, compareRivals)
	return best[:min(len(best), s.in.Explain)]
}

// mostWithZones is the most that scores add to any candidate.
func (s *step) mostWithZones() int64 {
	points := int64(math.MinInt64)
	for i := range s.ofZones {
		points = max(points, s.ofZones[i].points)
	}
	if points == math.MinInt64 {
		return s.most
	}
	return s.most + points
}

// zonePoints are what its zone adds to a candidate.
func (s *step) zonePoints(node int) int64 {
	if s.ofZones == nil {
		return 0
	}
	return s.ofZones[s.nodes[node].zone].points
}

// survivorsOn adds those of one node.
func (s *step) survivorsOn(i int, all []rival) []rival {
	if s.replica.Type == TieBreaker {
		return append(all, rival{choice: choice{node: i, place: noPlace}, out: kept})
	}
	n, first := &s.nodes[i], len(all)
	for p := n.first; p < n.usable; p++ {
		if s.verdictOnPlace(p) == kept {
			all = append(all, rival{choice: choice{node: i, place: int(p), score: s.places[p].room.rate(s.in.Size)}, out: kept})
		}
	}
	lvgs := len(all) - first
	points := s.nodePoints(i, lvgs) + s.zonePoints(i)
	for j := first; j < len(all); j++ {
		all[j].lvgs = int32(lvgs)
		all[j].score += points
	}
	return all
}

// addExcluded adds excluded candidates by name, until there are enough.
func (s *step) addExcluded(told []rival) []rival {
	for i := range s.nodes {
		n := &s.nodes[i]
		out := min(n.out, s.outNodes[i], s.outZones[n.zone])
		if s.replica.Type == TieBreaker {
			told = s.addOut(told, rival{choice: choice{node: i, place: noPlace}, out: out})
			continue
		}
		for p := n.first; p < n.last; p++ {
			out := min(out, s.places[p].out)
			if out == kept {
				out = s.verdictOnPlace(p)
			}
			told = s.addOut(told, rival{choice: choice{node: i, place: int(p)}, out: out})
		}
		if len(told) == s.in.Explain {
			break
		}
	}
	return told
}

func (s *step) addOut(told []rival, r rival) []rival {
	if r.out == kept || len(told) == s.in.Explain {
		return told
	}
	return append(told, r)
}

// alternative tells of one candidate: what its score is made of, or what excluded it.
func (s *step) alternative(r rival) Alternative {
	a := Alternative{
		Place: s.placeOf(r.choice), Zone: s.zones[s.nodes[r.node].zone], ExcludedBy: r.out.says(),
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
	a.Parts = make([]Part, 0, 1+len(s.inForce))
	a.add("capacity", room.rate(s.in.Size))
	for _, f := range s.inForce {
		if f.nodes != nil {
			a.add(f.says, f.nodes(s, group{node: r.node, lvgs: int(r.lvgs)}))
		}
	}
	for _, f := range s.inForce {
		if f.zones != nil {
			a.add(f.says, f.zones(s, s.ofZones[s.nodes[r.node].zone].surviving))
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
