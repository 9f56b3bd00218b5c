package scheduling

import "rvol/coordinator/decide/layout"

// zonalMajority keeps a Zonal volume together: only the zones with the most Diskful.
var zonalMajority = rule{
	says: "zone (zonal majority)",
	mark: func(s *step) {
		if s.in.Topology != layout.Zonal {
			return
		}
		most := 0
		for _, z := range s.load {
			most = max(most, z.diskful)
		}
		for i, z := range s.load {
			if z.diskful < most {
				s.dropZone(i)
			}
		}
	},
}
