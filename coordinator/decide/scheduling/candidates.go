package scheduling

import (
	"cmp"
	"math"
	"slices"
)

// A Node is one eligible node of the pool.
type Node struct {
	Name          string
	Zone          string // "" is a zone of its own
	Ready         bool
	AgentReady    bool
	Unschedulable bool
	DRBD          string // "8.4", "9", or "" where the node has none
	LVGs          []LVG
}

// An LVG is one place on a node: an LVG, or a thin pool of one.
type LVG struct {
	Name          string
	ThinPool      string
	Ready         bool
	Unschedulable bool
	Capacity      Capacity
}

// Candidates are the eligible nodes of a pool, prepared once and read by many decisions at a time.
// What a node or an LVG excludes by itself is settled here.
type Candidates struct {
	names  []string // of nodes, sorted
	nodes  []node
	places []place  // of node after node: the usable ones by name, then the others
	quick  []quick  // of places
	zones  []string // sorted
	drbd   []string // versions, sorted

	excludedNodes  counts // by rules that look at a node or an LVG alone
	excludedPlaces counts
}

// A node is kept small: every decision reads all of them.
type node struct {
	zone                int32
	first, usable, last int32 // places[first:last] are its places, those before usable can be used
	drbd                int32
	out                 verdict
	plain               bool  // the quick rating of its usable places will do
	bound               int8  // if so: no place is rated higher
	least               int64 // if so: what is available in every one of them, in bytes
}

type place struct {
	lvg, thinPool string
	room          Capacity
	out           verdict
}

// Prepare makes candidates of a pool's eligible nodes, in any order.
func Prepare(nodes []Node) *Candidates {
	places := 0
	for i := range nodes {
		places += len(nodes[i].LVGs)
	}
	c := &Candidates{
		zones: distinct(nodes, func(n *Node) string { return n.Zone }),
		drbd:  distinct(nodes, func(n *Node) string { return n.DRBD }),
		names: make([]string, 0, len(nodes)), nodes: make([]node, 0, len(nodes)),
		places: make([]place, 0, places), quick: make([]quick, 0, places),
	}
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	for i := range sorted {
		c.add(&sorted[i])
	}
	return c
}

func (c *Candidates) add(n *Node) {
	zone, _ := slices.BinarySearch(c.zones, n.Zone)
	drbd, _ := slices.BinarySearch(c.drbd, n.DRBD)
	added := node{zone: int32(zone), drbd: int32(drbd), first: int32(len(c.places)), out: verdictOnNode(n)}
	if added.out != kept {
		c.excludedNodes[added.out]++
	}
	added.usable = added.first
	for i := range n.LVGs {
		l := &n.LVGs[i]
		p := place{lvg: l.Name, thinPool: l.ThinPool, room: l.Capacity, out: min(added.out, verdictOnLVG(l))}
		if p.out == kept {
			added.usable++
		} else {
			c.excludedPlaces[p.out]++
		}
		c.places = append(c.places, p)
	}
	added.last = int32(len(c.places))
	slices.SortStableFunc(c.places[added.first:], comparePlaces)
	for i := added.first; i < added.last; i++ {
		c.quick = append(c.quick, c.places[i].room.quick())
	}
	c.sum(&added)
	c.nodes, c.names = append(c.nodes, added), append(c.names, n.Name)
}

// comparePlaces puts the usable ones first: kept is the highest verdict.
func comparePlaces(a, b place) int {
	if a.out != b.out && (a.out == kept || b.out == kept) {
		return -cmp.Compare(a.out, b.out)
	}
	return cmp.Or(cmp.Compare(a.lvg, b.lvg), cmp.Compare(a.thinPool, b.thinPool))
}

// sum settles what the usable places of a node have in common.
func (c *Candidates) sum(n *node) {
	n.plain, n.bound, n.least = true, 0, math.MaxInt64
	for i := n.first; i < n.usable; i++ {
		room := &c.places[i].room
		n.plain = n.plain && c.quick[i].scale != 0
		n.least = min(n.least, room.available)
		n.bound = max(n.bound, int8(rateLeft(max(0, room.available), room.total)))
	}
}

// SetCapacity changes what is known of the room in one place; false: there is no such place.
// It must not run beside a decision.
func (c *Candidates) SetCapacity(at Place, room Capacity) bool {
	first, last := c.find(at.Node)
	for n := first; n < last; n++ {
		node := &c.nodes[n]
		for i := node.first; i < node.last; i++ {
			if p := &c.places[i]; p.lvg == at.LVG && p.thinPool == at.ThinPool {
				p.room, c.quick[i] = room, room.quick()
				c.sum(node)
				return true
			}
		}
	}
	return false
}

// find is where the nodes of that name are.
func (c *Candidates) find(name string) (first, last int) {
	first, _ = slices.BinarySearch(c.names, name)
	for last = first; last < len(c.names) && c.names[last] == name; last++ {
	}
	return first, last
}

func distinct(nodes []Node, of func(*Node) string) []string {
	all := make([]string, len(nodes))
	for i := range nodes {
		all[i] = of(&nodes[i])
	}
	slices.Sort(all)
	return slices.Compact(all)
}
