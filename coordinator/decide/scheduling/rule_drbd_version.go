package scheduling

import "slices"

// drbdVersion excludes nodes without the DRBD that the replicas of the volume share.
var drbdVersion = rule{
	says: "DRBD version",
	mark: func(s *step) {
		wanted, there := slices.BinarySearch(s.drbd, s.in.DRBD)
		if s.in.DRBD == "" || there && len(s.drbd) == 1 {
			return
		}
		for i := range s.nodes {
			if !there || int(s.nodes[i].drbd) != wanted {
				s.dropNode(i)
			}
		}
	},
}
