package eligibility

import (
	"cmp"
	"fmt"
	"slices"
)

// A zone is how many nodes, and nodes with disks, there are in one zone.
type zone struct {
	name         string
	nodes, disks int
}

func (z zone) String() string { return fmt.Sprintf("zone %q", z.name) }

func zonesOf(nodes []ClassNode) []zone {
	byName := map[string]zone{}
	for _, n := range nodes {
		z := byName[n.Zone]
		z.name = n.Zone
		z.nodes++
		if n.Disks > 0 {
			z.disks++
		}
		byName[n.Zone] = z
	}
	zones := make([]zone, 0, len(byName))
	for _, z := range byName {
		zones = append(zones, z)
	}
	slices.SortFunc(zones, func(a, b zone) int { return cmp.Compare(a.name, b.name) })
	return zones
}

func total(zones []zone) zone {
	var sum zone
	for _, z := range zones {
		sum.nodes += z.nodes
		sum.disks += z.disks
	}
	return sum
}
