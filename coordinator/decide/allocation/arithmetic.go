package allocation

import (
	"math"
	"math/bits"
)

const largest = math.MaxInt64

// percentOf is a * percent / 100, rounded down, computed in 128 bits and held at the largest number.
func percentOf(a, percent int64) int64 {
	if a <= 0 || percent <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(a), uint64(percent))
	if hi >= 100 {
		return largest
	}
	quotient, _ := bits.Div64(hi, lo, 100)
	return clamp(quotient)
}

// times is a * b, held at the largest number; a negative factor counts as none.
func times(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 {
		return largest
	}
	return clamp(lo)
}

func clamp(n uint64) int64 {
	if n > largest {
		return largest
	}
	return int64(n)
}

func plus(a, b int64) int64 {
	if b > 0 && a > largest-b {
		return largest
	}
	return a + b
}
