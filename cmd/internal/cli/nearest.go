package cli

import "slices"

// nearest returns the word of known that word was most likely meant to be, or "".
func nearest(word string, known []string) string {
	best, least := "", len(word)/3+1 // one slip in three letters
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := distance(word, k); d > 0 && (d < least || d == least && best == "") {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, drop, replace or swap with their neighbour to make b of a.
func distance(a, b string) int {
	before, last, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, make([]int, len(b)+1)
	}
	return last[len(b)]
}
