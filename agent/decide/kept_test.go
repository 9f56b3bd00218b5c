package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/agent/decide"
	"rvol/drbd"
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

func TestWhatCoordinatorsForgotComesUpOnce(t *testing.T) {
	forgotten := func(v drbd.Version) *world {
		w := empty(v).formed()
		w.Kept, w.Desired.Resources = w.Desired.Resources, nil
		w.down()
		w.Observed.Links = map[string]string{}
		w.Observed.Metadata[lvUUID] = decide.Metadata{Current: 7, Device: w.Kept[0].DeviceUUID(0)}
		return w
	}
	up := "bring up rvol-db\nlink rvol/db to /dev/drbd10000\nlink drbd/by-res/rvol-db/0 to /dev/drbd10000"
	for _, c := range []planCase{
		{"after a boot, on 8.4", forgotten(v84), up},
		{"and on 9", forgotten(v9), up},
		{"before a coordinator has spoken", forgotten(v9).with(func(w *world) { w.Facts.Confirmed = false }), up},
		{"its volume is not active yet", forgotten(v9).with(func(w *world) { w.Observed.LVs[0].Active = false }), "activate LV vg0/rvol-db.0.0"},
		{"somebody took it down", forgotten(v9).with(func(w *world) { w.Facts.WasUp = true }), ""},
		{"its file is gone", forgotten(v9).with(func(w *world) { w.Observed.Files = nil }), ""},
		{"the file is another's", forgotten(v9).with(func(w *world) { w.Kept[0].ReplicaUID = "other" }), ""},
		{"its volume is gone", forgotten(v9).with(func(w *world) { w.Observed.LVs = nil }), ""},
		{"its disk is another's", forgotten(v9).with(func(w *world) { w.Observed.Metadata[lvUUID] = decide.Metadata{Current: 7, Device: 9} }), ""},
	} {
		if diff := cmp.Diff(c.want, says(decide.Next(c.w.Input, res))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
