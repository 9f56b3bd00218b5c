package scheduling

// drbdVersion excludes nodes without the DRBD that the replicas of the volume share.
var drbdVersion = rule{
	says: "DRBD version",
	mark: func(s *step) {
		if s.in.DRBD == "" {
			return
		}
		for i, drbd := range s.drbd {
			if drbd != s.in.DRBD {
				s.dropNode(i)
			}
		}
	},
}
