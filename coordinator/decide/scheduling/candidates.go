package scheduling

import (
	"cmp"
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
	nodes  []node
	places []place    // of node after node: the usable ones by name, then the others
	rooms  []Capacity // of places
	zones  []string   // sorted

	excludedNodes  counts // by rules that look at a node or an LVG alone
	excludedPlaces counts
}

type node struct {
	name                string
	drbd                string
	zone                int32
	first, usable, last int32 // places[first:last] are its places, those before usable can be used
	out                 verdict
}

type place struct {
	lvg, thinPool string
	out           verdict
}

// Prepare makes candidates of a pool's eligible nodes, in any order.
func Prepare(nodes []Node) *Candidates {
	c := &Candidates{zones: zoneNames(nodes), nodes: make([]node, 0, len(nodes))}
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	for i := range sorted {
		c.add(&sorted[i])
	}
	return c
}

func (c *Candidates) add(n *Node) {
	zone, _ := slices.BinarySearch(c.zones, n.Zone)
	added := node{
		name: n.Name, drbd: n.DRBD, zone: int32(zone), first: int32(len(c.places)), out: verdictOnNode(n),
	}
	if added.out != kept {
		c.excludedNodes[added.out]++
	}
	lvgs := slices.Clone(n.LVGs)
	slices.SortStableFunc(lvgs, func(a, b LVG) int {
		return cmp.Or(compareUsable(a, b), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ThinPool, b.ThinPool))
	})
	added.usable = added.first
	for i := range lvgs {
		p := place{lvg: lvgs[i].Name, thinPool: lvgs[i].ThinPool, out: verdictOnLVG(&lvgs[i])}
		switch out := min(added.out, p.out); out {
		case kept:
			added.usable++
		default:
			c.excludedPlaces[out]++
		}
		c.places = append(c.places, p)
		c.rooms = append(c.rooms, lvgs[i].Capacity)
	}
	added.last = int32(len(c.places))
	c.nodes = append(c.nodes, added)
}

func compareUsable(a, b LVG) int {
	return -cmp.Compare(verdictOnLVG(&a), verdictOnLVG(&b))
}

// SetCapacity changes what is known of the room in one place; false: there is no such place.
// It must not run beside a decision.
func (c *Candidates) SetCapacity(p Place, room Capacity) bool {
	for _, n := range c.named(p.Node) {
		for i := n.first; i < n.last; i++ {
			if c.places[i].lvg == p.LVG && c.places[i].thinPool == p.ThinPool {
				c.rooms[i] = room
				return true
			}
		}
	}
	return false
}

// find is where the nodes of that name are.
func (c *Candidates) find(name string) (first, last int) {
	first, _ = slices.BinarySearchFunc(c.nodes, name, func(n node, name string) int { return cmp.Compare(n.name, name) })
	for last = first; last < len(c.nodes) && c.nodes[last].name == name; last++ {
	}
	return first, last
}

func (c *Candidates) named(name string) []node {
	first, last := c.find(name)
	return c.nodes[first:last]
}

func zoneNames(nodes []Node) []string {
	zones := make([]string, len(nodes))
	for i := range nodes {
		zones[i] = nodes[i].Zone
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}
