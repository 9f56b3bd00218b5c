package transition_test

import (
	"testing"

	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/transition"
	"rvol/drbd"
)

// A node that was away comes back UpToDate by its own word. What counts is whether others may
// have gone on without it.
func TestACopyThatOthersMayHaveOvertakenIsNotTheLast(t *testing.T) {
	t.Parallel()
	only := func(n int) layout.Layout { l := layout.Formula(n-1, 0); l.Diskful, l.TieBreakers = n, 0; return l }
	for _, tc := range []struct {
		name    string
		layout  layout.Layout
		old     bool
		sole    int // -1: none
		quorum  bool
		refused bool
	}{
		{"with a tie-breaker the other may have gone on", layout.Formula(1, 0), false, -1, false, true},
		{"with a tie-breaker and quorum it cannot have", layout.Formula(1, 0), false, -1, true, false},
		{"of two alone neither can have gone on", layout.Formula(0, 1), false, -1, false, false},
		{"two of three may have gone on", only(3), false, -1, false, true},
		{"on DRBD 8.4 the one that goes alone is the other", only(2), true, 1, true, true},
		{"on DRBD 8.4 none goes alone", only(2), true, -1, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newMesh(t, tc.layout, tc.old)
			if tc.sole >= 0 {
				m.in.Status.Sole = &tc.sole
			}
			for i := range m.in.Members {
				mem := &m.in.Members[i]
				if mem.ID != 0 {
					mem.Known, mem.Up, mem.Fenced = false, false, mem.ID == 1
					continue
				}
				mem.Resource.Devices[0].Quorum = tc.quorum
				for k := range mem.Resource.Peers {
					mem.Resource.Peers[k].Connection = drbd.Connecting
				}
			}
			if _, err := transition.ForceRemove(m.in, 1); (err != nil) != tc.refused {
				t.Errorf("got %v", err)
			}
		})
	}
}
