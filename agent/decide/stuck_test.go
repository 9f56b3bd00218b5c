package decide_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/agent/decide"
	"rvol/drbd"
)

// behind has a copy that is old, beside one that is not.
func behind(w *world) {
	w.kernel().Devices[0].Disk = drbd.Outdated
	w.kernel().Peers[0].Devices[0].Disk = drbd.UpToDate
	w.Facts.Stuck = []drbd.NodeID{1}
}

func TestACopyThatIsLeftBehindMeetsAnew(t *testing.T) {
	second := func(role drbd.Role) func(*world) {
		return func(w *world) {
			peer := w.kernel().Peers[0]
			peer.NodeID, peer.Role = 2, role
			w.kernel().Peers = append(w.kernel().Peers, peer)
			w.Facts.Stuck = append(w.Facts.Stuck, 2)
		}
	}
	const anew = "meet replica 1 of rvol-db anew: it has good data, and gives none"
	check(t, []planCase{
		{"it is Outdated", empty(v9).formed().with(behind), anew},
		{"not for long enough", empty(v9).formed().with(behind).with(func(w *world) { w.Facts.Stuck = nil }), ""},
		{"it is good by now", empty(v9).formed().with(behind).with(func(w *world) { w.kernel().Devices[0].Disk = drbd.UpToDate }), ""},
		{"it is being copied to", empty(v9).formed().with(behind).with(func(w *world) { w.kernel().Peers[0].Devices[0].Repl = drbd.SyncTarget }), ""},
		{"it is Primary, and reads from the other", empty(v9).formed().with(behind).with(func(w *world) {
			w.r().Primary, w.kernel().Role = true, drbd.Primary
		}), ""},
		{"without a coordinator's word", empty(v9).formed().with(behind).with(func(w *world) { w.Facts.Confirmed = false }), ""},
		{"of two good ones the first", empty(v9).formed().with(behind).with(second(drbd.Secondary)), anew},
		{"of two good ones the Primary", empty(v9).formed().with(behind).with(second(drbd.Primary)), "meet replica 2 of rvol-db anew: it has good data, and gives none"},
	})
}

func TestHowLongACopyIsLeftBehind(t *testing.T) {
	early, now := time.Unix(100, 0), time.Unix(200, 0)
	since := map[drbd.NodeID]time.Time{1: early}
	for _, c := range []struct {
		name   string
		w      *world
		before map[drbd.NodeID]time.Time
		want   map[drbd.NodeID]time.Time
	}{
		{"since now", empty(v9).formed().with(behind), nil, map[drbd.NodeID]time.Time{1: now}},
		{"since it was noticed", empty(v9).formed().with(behind), since, since},
		{"no more", empty(v9).formed(), since, map[drbd.NodeID]time.Time{}},
		{"no more: the peer is gone from the order", empty(v9).formed().with(behind).with(func(w *world) { w.r().Peers = nil }), since, map[drbd.NodeID]time.Time{}},
		{"no more: they are not connected", empty(v9).formed().with(behind).with(func(w *world) { w.kernel().Peers[0].Conn = drbd.Connecting }), since, map[drbd.NodeID]time.Time{}},
		{"before the volume is formed nothing is", empty(v9).member().up(), since, nil},
		{"nor on DRBD 8.4, which compares two copies whenever they are together", empty(v84).formed().with(behind), since, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := maps.Clone(c.before)
			got := decide.StuckSince(c.before, c.w.Desired, c.w.Observed, res, now)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("stuck since (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, c.before); diff != "" {
				t.Errorf("its input was written to (-want +got):\n%s", diff)
			}
		})
	}
}
