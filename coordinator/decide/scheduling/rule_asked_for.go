package scheduling

// askedFor keeps a replica where it was asked to go.
var askedFor = rule{
	says: "not where it was asked to go",
	mark: func(s *step) {
		want := s.replica.Want
		if want == (Place{}) {
			return
		}
		for i, name := range s.names {
			if want.Node != "" && name != want.Node {
				s.dropNode(i)
				continue
			}
			for p := s.nodes[i].first; p < s.nodes[i].usable; p++ {
				if want.LVG != "" && s.places[p].lvg != want.LVG || want.ThinPool != "" && s.places[p].thinPool != want.ThinPool {
					s.dropPlace(int(p))
				}
			}
		}
	},
}
