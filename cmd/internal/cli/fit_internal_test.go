package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPageFitsOnTheTerminal(t *testing.T) {
	lines := []string{"a", "b", "c", "d"}
	for height, want := range map[int][]string{
		0: lines, 4: lines, 3: {"a", "b", "... 2 more lines"}, 2: {"a", "... 3 more lines"},
	} {
		if diff := cmp.Diff(want, shortened(lines, height)); diff != "" {
			t.Errorf("height %d (-want +got):\n%s", height, diff)
		}
	}
}
