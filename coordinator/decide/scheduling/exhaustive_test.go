package scheduling_test

import (
	"testing"

	"pgregory.net/rapid"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/scheduling"
)

// A solver tries every node for every replica that has none.
type solver struct {
	cluster
	zoneOf   map[string]string
	occupied map[string]bool
	waiting  []scheduling.Replica // without a node
	diskful  map[string]int       // per zone, of replicas that stay
	votes    map[string]int       // tie-breakers per zone, of replicas that stay
	touched  map[string]bool      // zones that got a replica
	total    layout.Layout        // what the volume is to have
}

// solvable says whether the whole layout fits; false also for a replica that is stuck on its node.
func solvable(c cluster) bool {
	s := &solver{
		cluster: c, zoneOf: map[string]string{}, occupied: map[string]bool{}, total: c.in.Layout,
		diskful: map[string]int{}, votes: map[string]int{}, touched: map[string]bool{},
	}
	for _, n := range c.nodes {
		s.zoneOf[n.Name] = n.Zone
	}
	diskful, tieBreakers := 0, 0
	for _, r := range c.in.Replicas {
		s.occupied[r.Place.Node] = r.Place.Node != ""
		if r.Deleting {
			continue
		}
		switch r.Type {
		case scheduling.Diskful:
			diskful++
		case scheduling.TieBreaker:
			tieBreakers++
		case scheduling.Access:
		}
		if !s.note(r) {
			return false
		}
	}
	s.total.Diskful = max(s.total.Diskful, diskful)
	s.total.TieBreakers = max(s.total.TieBreakers, tieBreakers)
	return s.try(s.waiting)
}

// note counts a replica that has a node, and queues one that has none; false: it has a node on which it cannot be.
func (s *solver) note(r scheduling.Replica) bool {
	switch {
	case r.Type != scheduling.Diskful && r.Type != scheduling.TieBreaker:
		return true
	case r.Place.Node == "":
		s.waiting = append(s.waiting, r)
		return true
	}
	if zone, inPool := s.zoneOf[r.Place.Node]; inPool {
		s.add(zone, r.Type, 1)
	}
	complete := r.Type == scheduling.TieBreaker || r.Place.LVG != "" && (r.Place.ThinPool != "") == s.in.Thin
	return complete || s.hasRoom(r.Place.Node)
}

func (s *solver) add(zone string, kind scheduling.ReplicaType, n int) {
	if kind == scheduling.Diskful {
		s.diskful[zone] += n
	} else {
		s.votes[zone] += n
	}
}

func (s *solver) hasRoom(name string) bool {
	for _, n := range s.nodes {
		for _, l := range n.LVGs {
			place := scheduling.Place{Node: n.Name, LVG: l.Name, ThinPool: l.ThinPool}
			if n.Name == name && usable(n) && l.Ready && !l.Unschedulable && s.scores[place] > 0 {
				return true
			}
		}
	}
	return false
}

func usable(n scheduling.Node) bool { return n.Ready && n.AgentReady && !n.Unschedulable }

func (s *solver) try(waiting []scheduling.Replica) bool {
	if len(waiting) == 0 {
		return s.keepsPromise()
	}
	r := waiting[0]
	for _, n := range s.nodes {
		if !usable(n) || s.occupied[n.Name] || r.Type == scheduling.Diskful && !s.hasRoom(n.Name) {
			continue
		}
		before := s.touched[n.Zone]
		s.occupied[n.Name], s.touched[n.Zone] = true, true
		s.add(n.Zone, r.Type, 1)
		found := s.try(waiting[1:])
		s.add(n.Zone, r.Type, -1)
		s.occupied[n.Name], s.touched[n.Zone] = false, before
		if found {
			return true
		}
	}
	return false
}

func (s *solver) keepsPromise() bool {
	switch s.in.Topology {
	case layout.Zonal:
		return s.inOneZone()
	case layout.TransZonal:
		for zone, touched := range s.touched {
			if touched && !s.survivesLossOf(zone) {
				return false
			}
		}
	case layout.Ignored:
	}
	return true
}

// inOneZone: everything new is in one zone, and none had more of the volume before.
func (s *solver) inOneZone() bool {
	diskful, votes := 0, 0
	for _, r := range s.waiting {
		if r.Type == scheduling.Diskful {
			diskful++
		} else {
			votes++
		}
	}
	for zone, touched := range s.touched {
		if !touched {
			continue
		}
		had, hadVotes := s.diskful[zone]-diskful, s.votes[zone]-votes
		for other := range s.diskful {
			more := s.diskful[other] > had || s.diskful[other] == had && s.votes[other] > hadVotes
			if other != zone && (s.touched[other] || more) {
				return false
			}
		}
		for other := range s.votes {
			if other != zone && (s.touched[other] || had == 0 && s.diskful[other] == 0 && s.votes[other] > hadVotes) {
				return false
			}
		}
	}
	return true
}

func (s *solver) survivesLossOf(zone string) bool {
	left := s.total.Diskful - s.diskful[zone]
	if s.total.FTT == 0 {
		return left >= 1
	}
	votes := left
	if s.total.Diskful%2 == 0 && 2*(s.total.TieBreakers-s.votes[zone]) > s.total.TieBreakers {
		votes++
	}
	return left >= s.total.GMDR+1 && votes >= s.total.Diskful/2+1
}

func TestTheSearchFindsAPlaceWheneverThereIsOne(t *testing.T) {
	draw := rapid.Custom(drawCluster)
	const clusters = 20_000
	feasible, rulesFailed, hopeless := 0, 0, 0
	for seed := range clusters {
		c := draw.Example(seed)
		got := scheduling.Run(c.in)
		if placed := got.Search == nil || got.Search.Found; placed != got.Whole() {
			t.Fatalf("seed %d: everything has its place: %v, and yet whole is %v", seed, placed, got.Whole())
		}
		if got.Search == nil {
			feasible++
			continue
		}
		want := solvable(c)
		if got.Search.Found != want {
			t.Fatalf("seed %d: the search found a place: %v, there is one: %v\n%s\n%s", seed, got.Search.Found, want, got.Search.Why, got.Search.Says)
		}
		if !want {
			hopeless++
			continue
		}
		feasible++
		rulesFailed++
		checkSearched(t, c, got)
	}
	t.Logf("of %d layouts that fit, the rules alone would have failed %d; %d more do not fit at all", feasible, rulesFailed, hopeless)
	if rulesFailed < clusters/1000 {
		t.Errorf("only %d clusters made use of the search", rulesFailed)
	}
}

// checkSearched puts the result back in: everything is placed, nothing is left to solve, the promise is kept.
func checkSearched(t *testing.T, c cluster, got scheduling.Result) {
	t.Helper()
	s := &solver{cluster: c, zoneOf: map[string]string{}, diskful: map[string]int{}, votes: map[string]int{}, touched: map[string]bool{}}
	for _, n := range c.nodes {
		s.zoneOf[n.Name] = n.Zone
	}
	s.total = c.in.Layout
	before := map[int]scheduling.Replica{}
	for _, r := range c.in.Replicas {
		before[r.ID] = r
	}
	used := map[string]int{}
	diskful, tieBreakers := 0, 0
	for _, p := range got.Replicas {
		r := before[p.ID]
		if p.Place.Node != "" {
			used[p.Place.Node]++
		}
		if r.Deleting || p.Type != scheduling.Diskful && p.Type != scheduling.TieBreaker {
			continue
		}
		if p.Scheduled != scheduling.True || p.Place.Node == "" {
			t.Errorf("replica %d is not placed: %v %q", p.ID, p.Place, p.Message)
		}
		if p.Type == scheduling.Diskful {
			diskful++
		} else {
			tieBreakers++
		}
		if zone, inPool := s.zoneOf[p.Place.Node]; inPool {
			s.add(zone, p.Type, 1)
			if r.Place.Node == "" {
				s.touched[zone] = true
				s.waiting = append(s.waiting, r)
			}
		}
		if p.Chosen && p.Type == scheduling.Diskful && c.scores[p.Place] <= 0 {
			t.Errorf("replica %d is on %v, where it does not fit", p.ID, p.Place)
		}
	}
	s.total.Diskful, s.total.TieBreakers = max(s.total.Diskful, diskful), max(s.total.TieBreakers, tieBreakers)
	for node, n := range used {
		if n > 1 {
			t.Errorf("%d replicas are on node %s", n, node)
		}
	}
	if !s.keepsPromise() {
		t.Errorf("the search breaks the promise of %s: %s", c.in.Topology, got.Search.Says)
	}
}
