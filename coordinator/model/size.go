package model

import (
	"fmt"
	"math"
)

// HumanSize renders bytes for people, cut to hundredths.
func HumanSize(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB"}
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	unit, i := int64(1<<10), 0
	for i < len(units)-1 && n/unit >= 1<<10 {
		unit, i = unit<<10, i+1
	}
	hundredths := n % unit * 100 / unit
	if unit > math.MaxInt64/100 || n%unit == 0 {
		return fmt.Sprintf("%d %s", n/unit, units[i])
	}
	return fmt.Sprintf("%d.%02d %s", n/unit, hundredths, units[i])
}
