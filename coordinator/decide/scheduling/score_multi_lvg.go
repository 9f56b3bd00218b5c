package scheduling

const multiLVGPoints = 2

// multiLVG prefers nodes with a second place, to which a volume can move when a disk dies and its user may not.
var multiLVG = score{
	says: "multi-LVG node bonus",
	when: func(s *step) bool { return s.in.VolumeAccess != AccessAny },
	most: multiLVGPoints,
	nodes: func(_ *step, g group) int64 {
		if g.lvgs > 1 {
			return multiLVGPoints
		}
		return 0
	},
}
