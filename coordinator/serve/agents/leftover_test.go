package agents

import (
	"testing"

	"rvol/coordinator/model"
)

func TestWhatIsLeftOverOnANodeThatComesBackIsNotOrderedAway(t *testing.T) {
	for _, tc := range []struct {
		name     string
		away     bool
		releases int
		leftover model.LeftoverState
	}{
		{"its agent was only restarted", false, 1, ""},
		{"it was not Ready", true, 0, model.LeftoverWaiting},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				t := w.t
				w.formed()
				if st, _ := get[*model.NodeStatus](w, "n1"); !tc.away {
					st = model.Clone(st)
					st.Ready = true
					w.put(st)
				}
				_, order := w.connect("n1").welcome()
				res, _ := get[*model.Reservation](w, "res-9")
				if len(order.GetReleases()) != tc.releases || res.Leftover != tc.leftover {
					t.Errorf("%d releases are ordered, the reservation is %q; want %d and %q", len(order.GetReleases()), res.Leftover, tc.releases, tc.leftover)
				}
			})
		})
	}
}
