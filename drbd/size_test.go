package drbd_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"pgregory.net/rapid"

	"rvol/drbd"
)

func TestBackingSizeTable(t *testing.T) {
	text, err := os.ReadFile("testdata/sizes.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for line := range bytes.Lines(text) {
		var c struct {
			Usable    int64 `json:"usable_bytes"`
			Backing   int64 `json:"backing_bytes"`
			OfBacking int64 `json:"usable_of_backing_bytes"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		cases++
		if got := drbd.BackingSize(c.Usable, drbd.MaxPeers); got != c.Backing {
			t.Errorf("BackingSize(%d) = %d, want %d", c.Usable, got, c.Backing)
		}
		if got := drbd.UsableSize(c.Backing, drbd.MaxPeers); got != c.OfBacking {
			t.Errorf("UsableSize(%d) = %d, want %d", c.Backing, got, c.OfBacking)
		}
	}
	if cases < 80 {
		t.Errorf("%d cases", cases)
	}
}

// Sizes that real devices had in the recordings.
func TestUsableSizeOfRecordedDevices(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		backing, want int64
		peers         int
	}{
		{64 * mib, 65496 << 10, 1},
		{96 * mib, 98264 << 10, 1},
		{112 * mib, 114648 << 10, 1},
		{256 * mib, 262052 << 10, 7},
		{300 * mib, 307096 << 10, 7},
		{340 * mib, 348048 << 10, 7},
		{4096, 0, 1},
		{0, 0, 7},
	} {
		if got := drbd.UsableSize(c.backing, c.peers); got != c.want {
			t.Errorf("UsableSize(%d, %d) = %d, want %d", c.backing, c.peers, got, c.want)
		}
	}
}

func TestBackingSizeIsEnoughAndNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 1<<50).Draw(t, "size")
		peers := rapid.IntRange(1, 31).Draw(t, "peers")
		backing := drbd.BackingSize(size, peers)
		if got := drbd.UsableSize(backing, peers); got < size {
			t.Fatalf("%d bytes of backing hold %d, want %d", backing, got, size)
		}
		if got := drbd.UsableSize(backing-4096, peers); got >= size {
			t.Fatalf("%d bytes less would do too: they hold %d, want %d", 4096, got, size)
		}
	})
}
