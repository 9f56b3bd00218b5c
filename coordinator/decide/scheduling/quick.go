package scheduling

// Among ten thousand nodes the division of the capacity score is what a decision costs. So it is done beforehand:
// left * scale is the percentage left in fixed point. Only where that lies so near a whole percentage that the
// rounding of either way could tell it apart is the place rated as it is written.

// A quick is the room in a place, made ready for rating.
type quick struct {
	available int64   // -1: less than nothing
	scale     float64 // 100 percent in fixed point, by total; 0: the place cannot be rated quickly
}

const (
	pointBits = 32 // of the fixed point
	wholeMask = 1<<pointBits - 1
	roundOff  = 4 // in units of the last bit, generously
)

func (c Capacity) quick() quick {
	if c.kind != capacityKnown || c.total <= 0 || c.available > c.total {
		return quick{}
	}
	return quick{available: max(-1, c.available), scale: 100 * (1 << pointBits) / float64(c.total)}
}

// rateQuickly is how many of the rooms fit and the highest rating among them; false: rate them one by one.
// It has no branch but the loop: which room fits, or is the largest so far, nobody can predict.
func rateQuickly(rooms []quick, size int64) (fit int, rating int64, ok bool) {
	top := int64(-1)
	for i := range rooms {
		left := rooms[i].available - size
		more := int64(float64(left)*rooms[i].scale) - top
		top += more &^ (more >> 63)
		fit += 1 + int(left>>63)
	}
	if fit == 0 {
		return 0, 0, true
	}
	if point := top & wholeMask; point < roundOff || point > wholeMask-roundOff {
		return 0, 0, false
	}
	return fit, int64(logs[top>>pointBits]), true
}
