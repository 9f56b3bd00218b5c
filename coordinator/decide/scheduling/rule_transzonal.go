package scheduling

import (
	"cmp"

	"rvol/coordinator/decide/layout"
)

// transZonalMinReplicas spreads a TransZonal volume: Diskful to the zones with the fewest Diskful, a TieBreaker to
// those with the fewest Diskful and TieBreakers, then the fewest TieBreakers.
var transZonalMinReplicas = rule{
	says: "zone (transZonal min replicas)",
	mark: func(s *step) {
		if s.in.Topology != layout.TransZonal || len(s.load) == 0 {
			return
		}
		compare := zoneLoad.compareDiskful
		if s.replica.Type == TieBreaker {
			compare = zoneLoad.compareVoters
		}
		least := s.load[0]
		for _, z := range s.load {
			if compare(z, least) < 0 {
				least = z
			}
		}
		for i, z := range s.load {
			if compare(z, least) > 0 {
				s.dropZone(i)
			}
		}
	},
}

// A zoneLoad is how many replicas of the volume are in a zone.
type zoneLoad struct{ diskful, tieBreakers int }

func (z zoneLoad) compareDiskful(other zoneLoad) int { return cmp.Compare(z.diskful, other.diskful) }

func (z zoneLoad) compareVoters(other zoneLoad) int {
	return cmp.Or(
		cmp.Compare(z.diskful+z.tieBreakers, other.diskful+other.tieBreakers),
		cmp.Compare(z.tieBreakers, other.tieBreakers),
	)
}
