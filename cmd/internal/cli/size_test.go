package cli

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"4096": 4096, "1": 1, "4096B": 4096, "1K": 1024, "1k": 1024, "1KiB": 1024, "512MiB": 512 << 20, "512m": 512 << 20,
		"10GiB": 10 << 30, "10G": 10 << 30, "10 GiB": 10 << 30, "1TiB": 1 << 40, "1P": 1 << 50, "1.5GiB": 3 << 29, "0.5K": 512,
		"9223372036854775807": 1<<63 - 1, "0010": 10,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestSizesThatAreRefused(t *testing.T) {
	for text, why := range map[string]string{
		"": "want a number", "GiB": "want a number", "-1": "want a number", "+1": "want a number", "1e3": "want a number",
		"1/2": "want a number", "0x10": "want a number", "1_000": "want a number", ".5G": "want a number", "5.G": "want a number",
		"1.2.3": "want a number", "10X": "want a number", "10 0": "want a number", "١": "want a number", "NaN": "want a number", "Inf": "want a number",
		"0": "more than 0", "0GiB": "more than 0", "0.3": "not a whole number", "0.3KiB": "not a whole number",
		"10GB": "say 10GiB", "1.5kb": "say 1.5KiB", "9223372036854775808": "63 bits", "8388608TiB": "63 bits", "99999999999999999999PiB": "63 bits",
		strings.Repeat("9", 1000): "want a number",
	} {
		if got, err := parseSize(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("parseSize(%q) = %d, %v, want %q", text, got, err, why)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"10GiB", "1.5G", "10GB", "0", "-1", "4096", "9223372036854775807", "1e9", ".5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseSize(text)
		if (n > 0) != (err == nil) {
			t.Errorf("parseSize(%q) = %d, %v: want a size or an error", text, n, err)
		}
	})
}

func TestHumanSizes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 3 << 29: "1.5 GiB", 10<<30 + 4096: "10 GiB", 1<<30 - 1: "1 GiB", 1<<63 - 1: "8 EiB", -(3 << 29): "-1.5 GiB",
	} {
		if got := humanSize(n); got != want {
			t.Errorf("humanSize(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestWholeHumanSizesReadBackAsThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 1023).Draw(t, "number") << rapid.SampledFrom([]int{0, 10, 20, 30, 40, 50}).Draw(t, "unit")
		if got, err := parseSize(humanSize(n)); err != nil || got != n {
			t.Errorf("parseSize(%q) = %d, %v, want %d", humanSize(n), got, err, n)
		}
	})
}

func TestNearest(t *testing.T) {
	known := []string{"list", "show", "delete", "db-1", "db-2"}
	for word, want := range map[string]string{
		"lst": "list", "shwo": "show", "delte": "delete", "db-11": "db-1", "db-2x": "db-2", "list": "", "x": "", "entirely-else": "",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
