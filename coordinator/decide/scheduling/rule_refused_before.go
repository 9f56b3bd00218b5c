package scheduling

// refusedBefore excludes places that refused this request when it was to be committed: on to the next best.
var refusedBefore = rule{
	says: "refused for capacity",
	mark: func(s *step) {
		for _, refused := range s.in.Refused {
			first, last := s.find(refused.Node)
			for n := first; n < last; n++ {
				for i := s.nodes[n].first; i < s.nodes[n].usable; i++ {
					if s.places[i].lvg == refused.LVG && s.places[i].thinPool == refused.ThinPool {
						s.dropPlace(int(i))
					}
				}
			}
		}
	},
}
