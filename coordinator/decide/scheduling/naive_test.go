package scheduling_test

import (
	"fmt"
	"slices"
	"sort"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/scheduling"
)

// A naive scheduler: the written rules, one after the other, over whole lists. Slow, and easy to check by eye.

type naiveCandidate struct {
	node  scheduling.Node
	lvg   scheduling.LVG
	score int64
}

type naive struct {
	in     scheduling.Input
	nodes  []scheduling.Node
	scores map[scheduling.Place]int64 // 0: does not fit
	at     map[int]scheduling.Place
	out    map[int]string
}

// runNaive answers with the place and the message of each replica.
func runNaive(in scheduling.Input, nodes []scheduling.Node, scores map[scheduling.Place]int64) (map[int]scheduling.Place, map[int]string) {
	n := &naive{in: in, nodes: nodes, scores: scores, at: map[int]scheduling.Place{}, out: map[int]string{}}
	for _, r := range in.Replicas {
		n.at[r.ID] = r.Place
		if n.complete(r) {
			n.out[r.ID] = "Replica scheduled successfully"
		}
	}
	for _, r := range n.ordered() {
		placeable := r.Type == scheduling.Diskful || r.Type == scheduling.TieBreaker
		if placeable && !n.complete(r) && (!r.Deleting || in.Mode != scheduling.Live) {
			n.placeOne(r)
		}
	}
	return n.at, n.out
}

func (n *naive) complete(r scheduling.Replica) bool {
	at := n.at[r.ID]
	if r.Type == scheduling.TieBreaker {
		return at.Node != ""
	}
	return r.Type == scheduling.Diskful && at.Node != "" && at.LVG != "" && (at.ThinPool != "") == n.in.Thin
}

func (n *naive) ordered() []scheduling.Replica {
	all := slices.Clone(n.in.Replicas)
	key := func(r scheduling.Replica) string {
		phase, deleting := 0, 0
		if r.Type == scheduling.TieBreaker {
			phase = 1
		}
		if n.in.Mode == scheduling.Live {
			return fmt.Sprintf("%d %06d", phase, r.ID)
		}
		if r.Deleting {
			deleting = 1
		}
		return fmt.Sprintf("%d %d %020d vol-%d", phase, deleting, r.CreatedAt, r.ID)
	}
	sort.SliceStable(all, func(i, j int) bool { return key(all[i]) < key(all[j]) })
	return all
}

func (n *naive) placeOne(r scheduling.Replica) {
	diskful := r.Type == scheduling.Diskful
	var all []naiveCandidate
	for _, node := range n.nodes {
		if !diskful {
			all = append(all, naiveCandidate{node: node})
			continue
		}
		for _, lvg := range node.LVGs {
			all = append(all, naiveCandidate{node: node, lvg: lvg})
		}
	}
	says := fmt.Sprintf("%d candidates from %d eligible nodes", len(all), len(n.nodes))
	if diskful {
		says = fmt.Sprintf("%d candidates (node×LVG) from %d eligible nodes", len(all), len(n.nodes))
	}
	filter := func(label string, keep func(naiveCandidate) bool) {
		before := len(all)
		all = slices.DeleteFunc(all, func(c naiveCandidate) bool { return !keep(c) })
		if gone := before - len(all); gone > 0 {
			says += fmt.Sprintf("; %d excluded: %s", gone, label)
		}
	}
	filter("node not ready", func(c naiveCandidate) bool { return c.node.Ready && c.node.AgentReady && !c.node.Unschedulable })
	if diskful {
		filter("LVG not ready", func(c naiveCandidate) bool { return c.lvg.Ready && !c.lvg.Unschedulable })
	}
	if own := n.at[r.ID].Node; own != "" {
		filter("node mismatch (assigned)", func(c naiveCandidate) bool { return c.node.Name == own })
	} else {
		filter("node occupied", func(c naiveCandidate) bool { return !n.occupied(c.node.Name) })
	}
	if label, zones := n.preferred(diskful); label != "" {
		filter(label, func(c naiveCandidate) bool { return zones[c.node.Zone] })
	}
	if diskful {
		filter("scoring (no capacity)", func(c naiveCandidate) bool { return n.scores[placeOf(c)] > 0 })
	}
	if len(all) == 0 {
		n.out[r.ID] = says
		return
	}
	if diskful {
		n.score(all)
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.score != b.score {
			return a.score > b.score
		}
		pa, pb := placeOf(a), placeOf(b)
		return fmt.Sprint(pa.Node, "\x00", pa.LVG, "\x00", pa.ThinPool) < fmt.Sprint(pb.Node, "\x00", pb.LVG, "\x00", pb.ThinPool)
	})
	n.at[r.ID] = placeOf(all[0])
	n.out[r.ID] = "Replica scheduled successfully"
}

func placeOf(c naiveCandidate) scheduling.Place {
	return scheduling.Place{Node: c.node.Name, LVG: c.lvg.Name, ThinPool: c.lvg.ThinPool}
}

func (n *naive) occupied(name string) bool {
	for _, at := range n.at {
		if at.Node == name {
			return true
		}
	}
	return false
}

// preferred is the zones that the topology allows for the next replica; no label: all.
func (n *naive) preferred(diskful bool) (string, map[string]bool) {
	zoneOf, diskfulIn, tieBreakersIn := map[string]string{}, map[string]int{}, map[string]int{}
	zones := map[string]bool{}
	for _, node := range n.nodes {
		zoneOf[node.Name], zones[node.Zone] = node.Zone, true
	}
	for _, r := range n.in.Replicas {
		zone, inPool := zoneOf[n.at[r.ID].Node]
		switch {
		case !inPool:
		case r.Type == scheduling.Diskful:
			diskfulIn[zone]++
		case r.Type == scheduling.TieBreaker:
			tieBreakersIn[zone]++
		}
	}
	better := func(a, b string) bool { return false }
	label := ""
	switch {
	case n.in.Topology == layout.Zonal:
		label = "zone (zonal majority)"
		better = func(a, b string) bool { return diskfulIn[a] > diskfulIn[b] }
	case n.in.Topology == layout.TransZonal && diskful:
		label = "zone (transZonal min replicas)"
		better = func(a, b string) bool { return diskfulIn[a] < diskfulIn[b] }
	case n.in.Topology == layout.TransZonal:
		label = "zone (transZonal min replicas)"
		better = func(a, b string) bool {
			voters := func(z string) int { return diskfulIn[z] + tieBreakersIn[z] }
			if voters(a) != voters(b) {
				return voters(a) < voters(b)
			}
			return tieBreakersIn[a] < tieBreakersIn[b]
		}
	}
	allowed := map[string]bool{}
	for a := range zones {
		allowed[a] = true
		for b := range zones {
			if better(b, a) {
				allowed[a] = false
			}
		}
	}
	return label, allowed
}

func (n *naive) score(all []naiveCandidate) {
	perNode, nodesOfZone := map[string]int{}, map[string]map[string]bool{}
	for _, c := range all {
		perNode[c.node.Name]++
		if nodesOfZone[c.node.Zone] == nil {
			nodesOfZone[c.node.Zone] = map[string]bool{}
		}
		nodesOfZone[c.node.Zone][c.node.Name] = true
	}
	need := n.in.Layout.FTT + n.in.Layout.GMDR + 1
	for _, r := range n.in.Replicas {
		if r.Type == scheduling.Diskful && n.complete(r) {
			need--
		}
	}
	for i := range all {
		c := &all[i]
		c.score = n.scores[placeOf(*c)]
		if slices.Contains(n.in.AttachTo, c.node.Name) {
			c.score += 1000
		}
		if n.in.VolumeAccess != scheduling.AccessAny && perNode[c.node.Name] > 1 {
			c.score += 2
		}
		if n.in.Topology == layout.Zonal && need > 0 && len(nodesOfZone[c.node.Zone]) < need {
			c.score -= 800
		}
	}
}
