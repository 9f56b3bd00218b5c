package main

import "testing"

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "512M": 512 << 20, "512MiB": 512 << 20, "2G": 2 << 30, "3K": 3072, "1T": 1 << 40, "7B": 7,
		"0": 0, "-1M": 0, "": 0, "M": 0, "1X": 0, "1MM": 0, "9999999999T": 0, "99999999999999999999": 0,
	} {
		got, err := parseSize(text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: got %d, %v, wanted %d", text, got, err, want)
		}
	}
}
