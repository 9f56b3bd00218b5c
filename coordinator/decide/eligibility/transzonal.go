package eligibility

import (
	"fmt"
	"strings"

	"rvol/coordinator/decide/layout"
)

// validateTransZonal looks for a placement that survives the loss of any one zone.
func validateTransZonal(l layout.Layout, zones []zone) Verdict {
	placed, tieBreaker := safestSpread(l, zones)
	if placed >= l.Diskful && tieBreaker {
		return valid(l, fmt.Sprintf("a placement exists that survives the loss of any one of %d zones", len(zones)))
	}
	return insufficient(l, layout.TransZonal, missingZones(l, zones, placed, tieBreaker))
}

// safestSpread is the most Diskful replicas, up to the layout's, that can be placed beside the tie-breaker so that
// the loss of any one zone is survived; false when not even the tie-breaker has a place.
func safestSpread(l layout.Layout, zones []zone) (diskful int, tieBreaker bool) {
	sum := 0
	for _, z := range zones {
		sum += min(z.disks, l.MostPerZone(false))
	}
	if l.TieBreakers == 0 {
		return min(sum, l.Diskful), true
	}
	best, found := 0, false
	for _, z := range zones {
		with := sum - min(z.disks, l.MostPerZone(false)) + min(z.disks, l.MostPerZone(true), z.nodes-l.TieBreakers)
		if z.nodes >= l.TieBreakers && (!found || with > best) {
			best, found = with, true
		}
	}
	return min(best, l.Diskful), found
}

func missingZones(l layout.Layout, zones []zone, placed int, tieBreaker bool) string {
	var s strings.Builder
	if least := l.LeastZones(); len(zones) < least {
		fmt.Fprintf(&s, "requires at least %d zones, have %d (%d missing); ", least, len(zones), least-len(zones))
	}
	fmt.Fprintf(&s, "for the loss of any one zone to leave %s, one zone may hold %d Diskful", leaves(l), l.MostPerZone(false))
	if l.TieBreakers > 0 {
		fmt.Fprintf(&s, ", the zone of the tie-breaker %d", l.MostPerZone(true))
	}
	fmt.Fprintf(&s, "; so %d of %d Diskful", placed, l.Diskful)
	if l.TieBreakers > 0 && tieBreaker {
		s.WriteString(" and the tie-breaker")
	}
	fmt.Fprintf(&s, " have a place (%d Diskful missing); have ", l.Diskful-placed)
	for i, z := range zones {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "%s: %d nodes, %d with disks", z, z.nodes, z.disks)
	}
	return s.String()
}

func leaves(l layout.Layout) string {
	if l.FTT == 0 {
		return "1 copy"
	}
	return fmt.Sprintf("%d copies and quorum", l.QuorumMinimumRedundancy)
}
