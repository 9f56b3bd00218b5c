package decide_test

import (
	"testing"
	"time"

	"rvol/agent/decide"
	"rvol/drbd"
)

func TestThePeerIsToldAnewOfWhatWasFilled(t *testing.T) {
	repl := func(s drbd.ReplState) func(*world) {
		return func(w *world) { w.kernel().Peers[0].Devices[0].Repl = s }
	}
	ends := func(n int) func(*world) {
		return func(w *world) {
			w.Observed.Past = map[drbd.Pair]drbd.Past{{Peer: w.kernel().Peers[0].NodeID}: {Filled: n}}
		}
	}
	told := func(n int) func(*world) { return func(w *world) { w.Facts.Told = map[int]int{0: n} } }
	rests := func(w *world) { w.Facts.Rests = true }
	untold := func(w *world) {
		f := w.Facts.Backings["res-0"]
		f.Untold = true
		w.Facts.Backings["res-0"] = f
	}
	const remember, tell = "remember that rvol-db/0 is being filled", "tell the peer of rvol-db/0 anew that it is filled"
	check(t, []planCase{
		{"it is being filled", empty(v84).formed().with(repl(drbd.SyncTarget)), remember},
		{"it waits to be", empty(v84).formed().with(repl(drbd.PausedSyncT)), remember},
		{"that is remembered", empty(v84).formed().with(repl(drbd.SyncTarget)).with(untold), ""},
		{"it fills the other", empty(v84).formed().with(repl(drbd.SyncSource)), ""},
		{"it was filled, and nobody saw it", empty(v84).formed().with(ends(2)).with(told(1)), remember},
		{"it was told", empty(v84).formed().with(ends(2)).with(told(2)).with(rests), ""},
		{"it was filled just now", empty(v84).formed().with(ends(2)).with(told(1)).with(untold), ""},
		{"and a while ago", empty(v84).formed().with(ends(2)).with(told(1)).with(untold).with(rests), tell},
		{"it is filled again, and somebody died while telling", empty(v84).formed().with(untold).with(func(w *world) {
			f := w.Facts.Backings["res-0"]
			f.Telling = true
			w.Facts.Backings["res-0"] = f
		}).with(repl(drbd.PausedSyncT)), tell},
		{"it is filled again, and somebody paused that", empty(v84).formed().with(untold).with(repl(drbd.PausedSyncT)), ""},
		{"before this agent began", empty(v84).formed().with(untold).with(rests), tell},
		{"without a coordinator", empty(v84).formed().with(untold).with(rests).with(func(w *world) { w.Facts.Confirmed = false }), tell},
		{"in use", empty(v84).formed().with(untold).with(rests).with(func(w *world) {
			w.r().Primary, w.kernel().Role = true, drbd.Primary
		}), tell},
		{"before the volume is formed", empty(v84).member().up().with(repl(drbd.SyncTarget)), remember},
		{"9 needs none of it", empty(v9).formed().with(repl(drbd.SyncTarget)).with(ends(2)).with(untold).with(rests), ""},
	})
}

func TestSinceWhenNothingIsCopied(t *testing.T) {
	before, now := time.Unix(1, 0), time.Unix(9, 0)
	for _, c := range []struct {
		says string
		w    *world
		want time.Time
	}{
		{"at rest since before", empty(v84).formed(), before},
		{"9", empty(v9).formed(), time.Time{}},
		{"it is not up", empty(v84).formed().down(), time.Time{}},
		{"something is copied", empty(v84).formed().with(func(w *world) { w.kernel().Peers[0].Devices[0].Repl = drbd.SyncTarget }), time.Time{}},
		{"the peer is not there", empty(v84).formed().with(func(w *world) { w.kernel().Peers[0].Conn = drbd.Connecting }), time.Time{}},
	} {
		if got := decide.RestsSince(before, c.w.Observed, res, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.says, got, c.want)
		}
	}
	if got := decide.RestsSince(time.Time{}, empty(v84).formed().Observed, res, now); got != now {
		t.Errorf("at rest from now on: %s", got)
	}
}
