package decide_test

import (
	"testing"

	"rvol/agent/decide"
)

func TestAnOrderThatAsksTheSameOfAKey(t *testing.T) {
	t.Parallel()
	order := func() decide.Desired {
		return decide.Desired{
			Order: decide.Order{Index: 7}, Resources: []decide.Resource{{Name: "a", Revision: 1}, {Name: "b"}},
			Releases:   []decide.Release{{Resource: "a", Reservation: "r1"}},
			Operations: []decide.Operation{{ID: "op", ReplicaUID: "uid"}},
		}
	}
	for _, tc := range []struct {
		name   string
		change func(d *decide.Desired)
		same   bool
	}{
		{"a newer index", func(d *decide.Desired) { d.Order.Index++ }, true},
		{"another resource", func(d *decide.Desired) { d.Resources[1].Revision++ }, true},
		{"another resource's release", func(d *decide.Desired) { d.Releases = append(d.Releases, decide.Release{Resource: "b"}) }, true},
		{"its revision", func(d *decide.Desired) { d.Resources[0].Revision++ }, false},
		{"a retry", func(d *decide.Desired) { d.Resources[0].Retry++ }, false},
		{"its release", func(d *decide.Desired) { d.Releases = nil }, false},
		{"gone", func(d *decide.Desired) { d.Resources = d.Resources[1:] }, false},
		{"fenced", func(d *decide.Desired) { d.Fenced = true }, false},
		{"held", func(d *decide.Desired) { d.Hold = true }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := order()
			tc.change(&d)
			if got := d.SameFor(order(), "a"); got != tc.same {
				t.Errorf("the same: %v, want %v", got, tc.same)
			}
		})
	}
}
