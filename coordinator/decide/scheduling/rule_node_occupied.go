package scheduling

// nodeOccupied excludes nodes that hold any replica of the volume, deleting ones too.
var nodeOccupied = rule{
	says: "node occupied",
	mark: func(s *step) {
		if s.replica.Place.Node != "" {
			return
		}
		for _, i := range s.occupied {
			s.dropNode(i)
		}
	},
}
