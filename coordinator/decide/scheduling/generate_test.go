package scheduling_test

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/scheduling"
)

// A cluster is a drawn input, and what the naive scheduler needs to know of it.
type cluster struct {
	in     scheduling.Input
	nodes  []scheduling.Node
	scores map[scheduling.Place]int64
}

// drawCluster draws a small cluster and a volume in any state.
func drawCluster(t *rapid.T) cluster {
	c := cluster{scores: map[scheduling.Place]int64{}}
	thin := rapid.Bool().Draw(t, "thin")
	zones := rapid.SampledFrom([][]string{{"z"}, {"a", "b"}, {"a", "b", "c"}, {"", "a", "b"}}).Draw(t, "zones")
	c.nodes = drawNodes(t, zones, thin)
	given, size := rapid.Bool().Draw(t, "scores are given"), rapid.SampledFrom([]int64{1 << 30, 3, 10 << 30}).Draw(t, "size")
	for i := range c.nodes {
		for j := range c.nodes[i].LVGs {
			l := &c.nodes[i].LVGs[j]
			score := rapid.SampledFrom([]int64{5, 5, 3, 0, 7, 1}).Draw(t, "score")
			l.Capacity = scheduling.Score(score)
			if !given {
				l.Capacity, score = drawRoom(t, size)
			}
			c.scores[scheduling.Place{Node: c.nodes[i].Name, LVG: l.Name, ThinPool: l.ThinPool}] = score
		}
	}
	ftt := rapid.IntRange(0, 2).Draw(t, "ftt")
	gmdr := rapid.IntRange(max(0, ftt-1), min(2, ftt+1)).Draw(t, "gmdr")
	c.in = scheduling.Input{
		Thin: thin, Size: size, Layout: layout.Formula(ftt, gmdr),
		Topology:     rapid.SampledFrom([]layout.Topology{layout.Ignored, layout.Zonal, layout.TransZonal}).Draw(t, "topology"),
		VolumeAccess: rapid.SampledFrom([]scheduling.VolumeAccess{"Any", "Local", "EventuallyLocal"}).Draw(t, "access"),
	}
	for i := range c.nodes {
		if rapid.IntRange(0, 9).Draw(t, "wanted") == 4 {
			c.in.AttachTo = append(c.in.AttachTo, c.nodes[i].Name)
		}
	}
	c.in.Replicas = drawReplicas(t, c)
	c.in.Candidates = scheduling.Prepare(rapid.Permutation(c.nodes).Draw(t, "order"))
	return c
}

// drawRoom draws a capacity, often near a whole percentage, and its score, computed as it is written.
func drawRoom(t *rapid.T, size int64) (scheduling.Capacity, int64) {
	total := rapid.SampledFrom([]int64{100 << 30, 100, 99, 1_000_003, 7<<40 + 1}).Draw(t, "total")
	percent := rapid.Int64Range(0, 100).Draw(t, "percent left")
	available := total/100*percent + size + rapid.Int64Range(-2, 2).Draw(t, "a little off")
	room := scheduling.Room(available, total)
	if available < size {
		return room, 0
	}
	left := math.Trunc(float64(available-size) / float64(total) * 100)
	if left < 1 {
		return room, 1
	}
	return room, int64(max(1, min(10, math.Round(math.Log2(left)))))
}

func drawNodes(t *rapid.T, zones []string, thin bool) []scheduling.Node {
	// Small numbers are drawn more often than others, so a seldom thing is a number in the middle.
	sick := rapid.IntRange(6, 40).Draw(t, "one in so many is out of order")
	mostly := func(label string) bool { return rapid.IntRange(0, sick).Draw(t, label) != 5 }
	nodes := make([]scheduling.Node, rapid.SampledFrom([]int{3, 4, 5, 6, 7, 8, 2, 1, 0}).Draw(t, "nodes"))
	for i := range nodes {
		nodes[i] = scheduling.Node{
			Name: fmt.Sprintf("n%d", i), Zone: rapid.SampledFrom(zones).Draw(t, "zone"),
			Ready: mostly("ready"), AgentReady: mostly("agent"), Unschedulable: !mostly("schedulable"),
		}
		for j := range rapid.SampledFrom([]int{1, 2, 3, 0}).Draw(t, "lvgs") {
			l := scheduling.LVG{Name: fmt.Sprintf("vg%d-%d", i, j), Ready: mostly("lvg"), Unschedulable: !mostly("lvg schedulable")}
			if thin {
				l.Name, l.ThinPool = fmt.Sprintf("vg%d-%d", i, j/2), fmt.Sprintf("tp%d", j%2)
			}
			nodes[i].LVGs = append(nodes[i].LVGs, l)
		}
	}
	return nodes
}

func drawReplicas(t *rapid.T, c cluster) []scheduling.Replica {
	names := []string{"gone"}
	for _, n := range c.nodes {
		names = append(names, n.Name)
	}
	free := rapid.Permutation(names).Draw(t, "places")
	l := c.in.Layout
	kinds := make([]scheduling.ReplicaType, 0, 8)
	for range l.Diskful {
		kinds = append(kinds, scheduling.Diskful)
	}
	for range l.TieBreakers {
		kinds = append(kinds, scheduling.TieBreaker)
	}
	extra := rapid.SampledFrom([]scheduling.ReplicaType{"", scheduling.Diskful, scheduling.TieBreaker, scheduling.Access, "Shadow"})
	if kind := extra.Draw(t, "extra"); kind != "" {
		kinds = append(kinds, kind)
	}
	ids := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 10, 11, 20, 31}).Draw(t, "ids")
	replicas := make([]scheduling.Replica, len(kinds))
	for i, kind := range kinds {
		r := scheduling.Replica{
			ID: ids[i], Type: kind, CreatedAt: rapid.Int64Range(0, 2).Draw(t, "created"),
			Deleting: rapid.IntRange(0, 20).Draw(t, "deleting") == 7,
		}
		if i < len(free) && rapid.IntRange(0, 4).Draw(t, "has a node") == 2 {
			r.Place = drawPlace(t, c, free[i])
		}
		replicas[i] = r
	}
	return replicas
}

func drawPlace(t *rapid.T, c cluster, node string) scheduling.Place {
	at := scheduling.Place{Node: node}
	switch rapid.IntRange(0, 3).Draw(t, "how much is placed") {
	case 0:
		at.LVG = "vg-old"
	case 1:
		at.LVG, at.ThinPool = "vg-old", "tp-old"
	case 2:
		at.LVG = "vg-old"
		if c.in.Thin {
			at.ThinPool = "tp-old"
		}
	}
	return at
}
