package scheduling

// nodeMismatch keeps a replica that has a node but no LVG on its node.
var nodeMismatch = rule{
	says: "node mismatch (assigned)",
	mark: func(s *step) {
		assigned := s.replica.Place.Node
		if assigned == "" {
			return
		}
		for i, name := range s.names {
			if name != assigned {
				s.dropNode(i)
			}
		}
	},
}
