package allocation

// Charge is what one reservation costs its pool: the most of what was granted, what a resize asks for,
// and what the LV was seen to have.
func Charge(granted, pending, observed int64) int64 {
	return max(0, granted, pending, observed)
}

// Sum adds charges, and stays at the largest number where they would overflow it.
func Sum(charges ...int64) int64 {
	var sum int64
	for _, c := range charges {
		sum = plus(sum, c)
	}
	return sum
}

// RoundUp rounds a size up to a whole number of units (extents, 4 KiB blocks); the largest multiple where none is larger.
func RoundUp(size, unit int64) int64 {
	if unit <= 1 || size <= 0 {
		return max(0, size)
	}
	rest := size % unit
	if rest == 0 {
		return size
	}
	if up := size - rest; up <= largest-unit {
		return up + unit
	}
	return largest / unit * unit
}
