package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/agent/decide"
)

func TestWhatNoOrderReleasedIsKept(t *testing.T) {
	t.Parallel()
	held := func(name string) decide.Resource {
		return decide.Resource{
			Name: name, ReplicaUID: "uid-" + name, Member: true,
			Devices: []decide.Device{{Backing: &decide.Backing{Reservation: "res-" + name}}},
		}
	}
	preconfigured := held("new")
	preconfigured.Member = false
	for _, tc := range []struct {
		name            string
		before, ordered []decide.Resource
		next            decide.Desired
		want            []string
	}{
		{"named again", nil, []decide.Resource{held("a")}, decide.Desired{Resources: []decide.Resource{held("a")}}, nil},
		{"forgotten", nil, []decide.Resource{held("a")}, decide.Desired{}, []string{"a"}},
		{"forgotten for long", []decide.Resource{held("a")}, []decide.Resource{held("b")}, decide.Desired{}, []string{"b", "a"}},
		{"taken back", []decide.Resource{held("a")}, nil, decide.Desired{Resources: []decide.Resource{held("a")}}, nil},
		{"released by its reservation", []decide.Resource{held("a")}, nil, decide.Desired{Releases: []decide.Release{{Reservation: "res-a"}}}, nil},
		{"released by its replica", nil, []decide.Resource{held("a")}, decide.Desired{Releases: []decide.Release{{ReplicaUID: "uid-a"}}}, nil},
		{"never a member", nil, []decide.Resource{preconfigured}, decide.Desired{}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, r := range decide.Kept(tc.before, tc.ordered, tc.next) {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
