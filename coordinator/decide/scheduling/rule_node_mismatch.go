package scheduling

// nodeMismatch keeps a replica that has a node but no LVG on its node.
var nodeMismatch = rule{
	says: "node mismatch (assigned)",
	mark: func(s *step) {
		name := s.replica.Place.Node
		if name == "" {
			return
		}
		for i := range s.nodes {
			if s.nodes[i].name != name {
				s.dropNode(i)
			}
		}
	},
}
