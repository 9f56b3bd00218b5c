package cli

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// sizeHelp says in a flag's help what a size looks like.
const sizeHelp = "bytes, or with K, M, G, T, P or KiB, MiB, GiB, TiB, PiB (all powers of 1024)"

// unitShift maps a unit in lower case to the power of two it stands for. As in lvcreate and zfs a bare letter is binary.
var unitShift = map[string]uint{
	"": 0, "b": 0,
	"k": 10, "kib": 10, "m": 20, "mib": 20, "g": 30, "gib": 30, "t": 40, "tib": 40, "p": 50, "pib": 50,
}

// parseSize reads a size in bytes. GB and its like are refused: half the world means 10^9 by it, the other half 2^30.
func parseSize(text string) (int64, error) {
	end := strings.LastIndexAny(text, "0123456789.") + 1
	number, unit := text[:end], strings.ToLower(strings.TrimSpace(text[end:]))
	shift, known := unitShift[unit]
	switch {
	case !known && strings.HasSuffix(unit, "b") && len(unit) == 2 && strings.Contains("kmgtp", unit[:1]):
		return 0, fmt.Errorf("size %q: %s means powers of 1000 to some and of 1024 to others: say %s%siB, or bytes",
			text, text[end:], number, strings.ToUpper(unit[:1]))
	case !known || !isDecimal(number):
		return 0, fmt.Errorf("size %q: want a number of %s, as in 10GiB", text, sizeHelp)
	}
	n, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, fmt.Errorf("size %q: want a number of %s, as in 10GiB", text, sizeHelp)
	}
	n.Mul(n, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), shift)))
	switch {
	case !n.IsInt():
		return 0, fmt.Errorf("size %q: not a whole number of bytes", text)
	case !n.Num().IsInt64():
		return 0, fmt.Errorf("size %q: more bytes than 63 bits can count", text)
	case n.Sign() == 0:
		return 0, fmt.Errorf("size %q: want more than 0 bytes", text)
	}
	return n.Num().Int64(), nil
}

// isDecimal takes digits with at most one point between them; it keeps out what big.Rat reads besides: 1e9, 1/2, 0x10.
func isDecimal(s string) bool {
	whole, frac, pointed := strings.Cut(s, ".")
	return isDigits(whole) && (!pointed || isDigits(frac))
}

func isDigits(s string) bool {
	return s != "" && len(s) <= 40 && strings.Trim(s, "0123456789") == ""
}

// parseSizes reads the sizes of a volume's devices, in their order.
func parseSizes(texts []string) ([]int64, error) {
	sizes := make([]int64, len(texts))
	for i, text := range texts {
		var err error
		if sizes[i], err = parseSize(text); err != nil {
			return nil, usage("%s", err)
		}
	}
	return sizes, nil
}

// humanSize writes bytes for people: "1.5 GiB".
func humanSize(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	value, i := float64(n), 0
	for (value >= 1023.95 || value <= -1023.95) && i < len(units)-1 {
		value, i = value/1024, i+1
	}
	return strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0") + " " + units[i]
}
