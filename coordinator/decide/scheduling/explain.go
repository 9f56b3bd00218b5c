package scheduling

import (
	"cmp"
	"slices"
)

// explain lists the candidates one by one: the best first, the excluded ones last.
func (s *step) explain(d *Diagnosis, best *choice) {
	all := s.alternatives()
	for i := range all {
		all[i].Chosen = best != nil && all[i].Place == s.placeOf(*best)
	}
	slices.SortStableFunc(all, compareAlternatives)
	kept := min(len(all), s.in.Explain)
	d.Alternatives, d.Omitted = all[:kept:kept], len(all)-kept
}

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

// alternatives is every candidate, by node, LVG and thin pool.
func (s *step) alternatives() []Alternative {
	var all []Alternative
	surviving := make([]int, len(s.zones))
	for i := range s.nodes {
		n := &s.nodes[i]
		if s.replica.Type == TieBreaker {
			out := min(n.out, s.outNodes[i], s.outZones[n.zone])
			all = append(all, Alternative{Place: Place{Node: s.names[i]}, Zone: s.zones[n.zone], ExcludedBy: out.says()})
			continue
		}
		first := len(all)
		for p := n.first; p < n.last; p++ {
			all = append(all, s.alternative(i, p))
		}
		if s.addNodeScores(i, all[first:]) > 0 {
			surviving[n.zone]++
		}
	}
	s.addZoneScores(all, surviving)
	return all
}

// alternative is one candidate of a Diskful with the score of its capacity alone.
func (s *step) alternative(i int, p int32) Alternative {
	n, room := &s.nodes[i], &s.places[p].room
	a := Alternative{
		Place: Place{Node: s.names[i], LVG: s.places[p].lvg, ThinPool: s.places[p].thinPool},
		Zone:  s.zones[n.zone], Capacity: room.kind.String(),
	}
	if room.kind == capacityKnown {
		a.Available = room.available
	}
	out := min(n.out, s.places[p].out, s.outNodes[i], s.outZones[n.zone])
	if out == kept {
		out = s.verdictOnPlace(p)
	}
	if a.ExcludedBy = out.says(); a.ExcludedBy == "" {
		a.add("capacity", room.rate(s.in.Size))
	}
	return a
}

func (a *Alternative) add(rule string, points int64) {
	if points != 0 {
		a.Score += points
		a.Parts = append(a.Parts, Part{Rule: rule, Points: points})
	}
}

// addNodeScores adds what nodes add, and returns how many candidates of the node survived.
func (s *step) addNodeScores(i int, ofNode []Alternative) int {
	lvgs := 0
	for _, a := range ofNode {
		if a.ExcludedBy == "" {
			lvgs++
		}
	}
	for _, score := range s.inForce {
		if score.nodes == nil || lvgs == 0 {
			continue
		}
		points := score.nodes(s, group{node: i, lvgs: lvgs})
		for j := range ofNode {
			if ofNode[j].ExcludedBy == "" {
				ofNode[j].add(score.says, points)
			}
		}
	}
	return lvgs
}

func (s *step) addZoneScores(all []Alternative, surviving []int) {
	for i := range all {
		a := &all[i]
		zone, _ := slices.BinarySearch(s.zones, a.Zone)
		for _, score := range s.inForce {
			if score.zones != nil && a.ExcludedBy == "" {
				a.add(score.says, score.zones(s, surviving[zone]))
			}
		}
	}
}
