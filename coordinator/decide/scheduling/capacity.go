package scheduling

import "math"

// Capacity is what is known of the room in one LVG or thin pool. The zero value is: nothing.
type Capacity struct {
	kind      capacityKind
	available int64
	total     int64
	score     int64
}

type capacityKind uint8

const (
	capacityUnknown capacityKind = iota
	capacityKnown
	capacityGiven
)

// Room is a capacity of which available of total bytes are free to be promised.
func Room(available, total int64) Capacity {
	return Capacity{kind: capacityKnown, available: available, total: total}
}

// Score is a capacity that somebody else has rated; 0 and less do not fit.
func Score(score int64) Capacity {
	return Capacity{kind: capacityGiven, score: min(score, maxGiven)}
}

// maxGiven leaves room for what the other scores add.
const maxGiven = 1 << 60

func (k capacityKind) String() string {
	switch k {
	case capacityKnown:
		return "known"
	case capacityGiven:
		return "given"
	case capacityUnknown:
	}
	return "unknown"
}

// The labels of candidates that capacity excludes.
const (
	noCapacity      = "scoring (no capacity)"
	unknownCapacity = "scoring (capacity unknown)"
)

// rate is the capacity score of a place for a replica of size bytes; 0: it does not fit.
func (c *Capacity) rate(size int64) int64 {
	switch c.kind {
	case capacityKnown:
		if c.available < size {
			return 0
		}
		return rateLeft(c.available-size, c.total)
	case capacityGiven:
		return max(0, c.score)
	case capacityUnknown:
	}
	return 0
}

// The bounds of a capacity score.
const minScore, maxScore = 1, 10

// rateLeft rates what is left: round(log2(percent of total)), from 1 to 10.
// The percentage is truncated from floating point in just this order: that is what the recorded scores were made with.
func rateLeft(left, total int64) int64 {
	if total <= 0 {
		return minScore
	}
	percent := float64(left) / float64(total) * 100
	if percent < float64(len(logs)) {
		return int64(logs[int(percent)])
	}
	return min(maxScore, int64(math.Round(math.Log2(math.Trunc(percent)))))
}

// logs is rateLeft of every whole percentage up to 100.
var logs = [101]uint8{
	1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5,
	6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6,
	7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
}
