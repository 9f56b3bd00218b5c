package scheduling

import "cmp"

// A step is the choice of a place for one replica.
type step struct {
	*run
	replica  Replica
	excluded counts
	inForce  []*score // scores that count for this replica
	most     int64    // the most that they add to a node

	ofZones []zoneBest // once a place was picked
}

func (r *run) newStep(i int) *step { return r.newStepFor(r.in.Replicas[i]) }

// newStepFor marks what the rules exclude for a replica.
func (r *run) newStepFor(replica Replica) *step {
	s := &step{run: r, replica: replica}
	clearMarks(s.outNodes)
	clearMarks(s.outZones)
	clearMarks(s.outPlaces)
	clear(s.rated)
	s.excluded = s.excludedNodes
	if s.replica.Type == Diskful {
		s.excluded = s.excludedPlaces
		for i := range scores {
			if scores[i].when(s) {
				s.inForce = append(s.inForce, &scores[i])
				s.most += scores[i].most
			}
		}
	}
	for v := range rules {
		if rules[v].mark != nil {
			s.marking = verdict(v)
			rules[v].mark(s)
		}
	}
	return s
}

func clearMarks(marks []verdict) {
	for i := range marks {
		marks[i] = kept
	}
}

// dropNode excludes a node, unless an earlier rule did.
func (r *run) dropNode(i int) { r.outNodes[i] = min(r.outNodes[i], r.marking) }

// dropZone excludes the nodes of a zone that no earlier rule excludes.
func (r *run) dropZone(i int) { r.outZones[i] = min(r.outZones[i], r.marking) }

// dropPlace excludes a place that no earlier rule excludes.
func (r *run) dropPlace(i int) {
	if r.outPlaces == nil {
		r.outPlaces = make([]verdict, len(r.places))
		clearMarks(r.outPlaces)
	}
	r.outPlaces[i] = min(r.outPlaces[i], r.marking)
}

// A choice is a candidate with its score.
type choice struct {
	node  int
	place int // noPlace for a TieBreaker
	score int64
}

const noPlace = -1

// pick returns the best candidate: highest score, then node, LVG and thin pool by name. nil: none survived.
func (s *step) pick() *choice {
	if s.replica.Type == TieBreaker {
		return s.pickNode()
	}
	zones := make([]zoneBest, len(s.zones))
	for i := range s.nodes {
		if n := &s.nodes[i]; n.usable > n.first {
			s.rateNode(i, n, &zones[n.zone])
		}
	}
	return s.pickZone(zones)
}

// A zoneBest is the best candidate of one zone, before what zones add.
type zoneBest struct {
	choice
	surviving int   // nodes
	points    int64 // what the zone adds
}

// rateNode rates the candidates of one node, and remembers the best if it is the best of its zone.
func (s *step) rateNode(i int, n *node, zone *zoneBest) {
	if out := min(s.outNodes[i], s.outZones[n.zone]); out != kept {
		s.excluded[out] += int(n.usable - n.first)
		return
	}
	if bound := int64(n.bound); n.plain && s.outPlaces == nil && s.in.Size <= n.least && zone.surviving > 0 && bound+s.most <= zone.score {
		zone.surviving++ // all its places survive, and none is better
		s.noteRating(i, bound)
		return
	}
	lvgs, rating := s.rateSurvivors(n)
	if lvgs == 0 {
		return
	}
	zone.surviving++
	s.noteRating(i, rating)
	if zone.surviving > 1 && rating+s.most <= zone.score {
		return
	}
	score := rating + s.nodePoints(i, lvgs)
	if zone.surviving == 1 || score > zone.score {
		zone.choice = choice{node: i, place: s.firstRated(n, rating), score: score}
	}
}

// rateSurvivors is how many places of a node survive, and the highest rating among them.
func (s *step) rateSurvivors(n *node) (lvgs int, rating int64) {
	if !n.plain || s.outPlaces != nil {
		return s.ratePlaces(n)
	}
	lvgs, rating, ok := rateQuickly(s.quick[n.first:n.usable], s.in.Size)
	if !ok {
		return s.ratePlaces(n)
	}
	if out := int(n.usable-n.first) - lvgs; out > 0 {
		s.excluded[outNoCapacity] += out
	}
	return lvgs, rating
}

// noteRating notes what no capacity score on a node exceeds. A candidate that survived has at least 1.
func (s *step) noteRating(node int, rating int64) {
	if s.rated != nil {
		s.rated[node] = uint8(min(rating, unbounded))
	}
}

func (s *step) nodePoints(i, lvgs int) (points int64) {
	for _, f := range s.inForce {
		if f.nodes != nil {
			points += f.nodes(s, group{node: i, lvgs: lvgs})
		}
	}
	return points
}

// ratePlaces rates place after place: how many survive, and the highest rating among them.
func (s *step) ratePlaces(n *node) (lvgs int, rating int64) {
	for p := n.first; p < n.usable; p++ {
		if out := s.verdictOnPlace(p); out != kept {
			s.excluded[out]++
			continue
		}
		lvgs++
		rating = max(rating, s.places[p].room.rate(s.in.Size))
	}
	return lvgs, rating
}

// firstRated is the first surviving place of a node that has the rating.
func (s *step) firstRated(n *node, rating int64) int {
	for p := n.first; p < n.usable; p++ {
		if s.verdictOnPlace(p) == kept && s.places[p].room.rate(s.in.Size) == rating {
			return int(p)
		}
	}
	return noPlace
}

// verdictOnPlace is why a usable place of a node that is not excluded is no candidate.
func (s *step) verdictOnPlace(p int32) verdict {
	if s.outPlaces != nil && s.outPlaces[p] != kept {
		return s.outPlaces[p]
	}
	switch room := &s.places[p].room; {
	case room.kind == capacityUnknown:
		return outUnknown
	case room.rate(s.in.Size) == 0:
		return outNoCapacity
	}
	return kept
}

// pickZone adds what zones add and returns the best of all.
func (s *step) pickZone(zones []zoneBest) *choice {
	var best *choice
	s.ofZones = zones
	for i := range zones {
		z := &zones[i]
		if z.surviving == 0 {
			continue
		}
		for _, score := range s.inForce {
			if score.zones != nil {
				z.points += score.zones(s, z.surviving)
			}
		}
		z.score += z.points
		if best == nil || compareChoices(z.choice, *best) < 0 {
			best = &z.choice
		}
	}
	return best
}

func compareChoices(a, b choice) int {
	return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.node, b.node), cmp.Compare(a.place, b.place))
}

// pickNode returns the first node that no rule excludes.
func (s *step) pickNode() *choice {
	var best *choice
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.out != kept {
			continue
		}
		if out := min(s.outNodes[i], s.outZones[n.zone]); out != kept {
			s.excluded[out]++
			continue
		}
		if best == nil {
			best = &choice{node: i, place: noPlace}
		}
		s.noteRating(i, 1)
	}
	return best
}

func (r *run) placeOf(c choice) Place {
	at := Place{Node: r.names[c.node]}
	if c.place != noPlace {
		at.LVG, at.ThinPool = r.places[c.place].lvg, r.places[c.place].thinPool
	}
	return at
}
