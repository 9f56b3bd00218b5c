package scheduling

import "slices"

const attachToPoints = 1000

// attachTo prefers the nodes on which somebody wants the volume.
var attachTo = score{
	says: "attach-to bonus",
	when: func(s *step) bool { return len(s.wanted) > 0 },
	most: attachToPoints,
	nodes: func(s *step, g group) int64 {
		if _, wanted := slices.BinarySearch(s.wanted, g.node); wanted {
			return attachToPoints
		}
		return 0
	},
}
