package scheduling

import "rvol/coordinator/decide/layout"

const zoneShortPoints = -800

// zoneShortOfNodes avoids zones that cannot hold the Diskful replicas that are still to be placed.
var zoneShortOfNodes = score{
	says: "zone capacity penalty",
	when: func(s *step) bool { return s.in.Topology == layout.Zonal && s.diskfulLeft() > 0 },
	zones: func(s *step, survivingNodes int) int64 {
		if survivingNodes < s.diskfulLeft() {
			return zoneShortPoints
		}
		return 0
	},
}
