package decide_test

import (
	"testing"

	"rvol/agent/decide"
	"rvol/drbd"
)

func TestACopyThatLostTheOtherFindsItAgain(t *testing.T) {
	standAlone := func(w *world) { w.kernel().Peers[0].Conn = drbd.StandAlone }
	nobody := func(w *world) { w.kernel().Peers = nil }
	isPrimary := func(w *world) { w.r().Primary, w.kernel().Role = true, drbd.Primary }
	frozen := func(w *world) { w.kernel().Suspended.Fencing = true }
	round := func(w *world) {
		w.r().DRBD, w.r().SoleRound = "8.4", 3
		w.kernel().Peers[0].Conn, w.kernel().Peers[0].Devices[0].Repl = drbd.Connected, drbd.Established
		w.settle()
	}
	check(t, []planCase{
		{"8.4 has forgotten it", empty(v84).formed().with(nobody), "connect rvol-db to replica 1 again"},
		{"8.4 has given it up", empty(v84).formed().with(standAlone), "connect rvol-db to replica 1 again"},
		{"8.4 has, while this one goes on alone", empty(v84).formed().with(isPrimary).with(nobody), "connect rvol-db to replica 1 again"},
		{"8.4 has, while this one is frozen: the other one may be Primary", empty(v84).formed().with(isPrimary).with(frozen).with(nobody), ""},
		{"8.4 tries by itself", empty(v84).formed().with(func(w *world) { w.kernel().Peers[0].Conn = drbd.Connecting }), ""},
		{"9 has given it up", empty(v9).formed().with(standAlone), "connect rvol-db to replica 1 again"},
		{"9 has, while I/O waits for quorum", empty(v9).formed().with(isPrimary).with(standAlone).with(func(w *world) {
			w.kernel().Suspended.Quorum = true
		}), "connect rvol-db to replica 1 again"},
		{"9 tries by itself", empty(v9).formed().with(func(w *world) { w.kernel().Peers[0].Conn = drbd.Connecting }), ""},
		{"without a coordinator's word", empty(v9).formed().with(standAlone).with(func(w *world) { w.Facts.Confirmed = false }), ""},
		{"before the volume is formed", empty(v9).member().up().with(standAlone), ""},

		{"both are together after a round", empty(v84).formed().with(round), "see that both copies of rvol-db are together (round 3)"},
		{"which was confirmed", empty(v84).formed().with(round).with(func(w *world) {
			w.Facts.Together = map[string]int64{"rvol-db": 3}
		}), ""},
		{"the other one is not UpToDate yet", empty(v84).formed().with(round).with(func(w *world) {
			w.kernel().Peers[0].Devices[0].Disk = drbd.Inconsistent
		}), ""},
		{"they still resync", empty(v84).formed().with(round).with(func(w *world) {
			w.kernel().Peers[0].Devices[0].Repl = drbd.SyncSource
		}), ""},
	})
}

func TestWhatIsFrozen(t *testing.T) {
	alone := drbd.Resource{Role: drbd.Primary, Devices: []drbd.Device{{Disk: drbd.UpToDate}}}
	for _, c := range []struct {
		says   string
		change func(*drbd.Resource)
		want   bool
	}{
		{"a Primary that goes on", func(*drbd.Resource) {}, false},
		{"a Primary that waits for a grant", func(r *drbd.Resource) { r.Suspended.Fencing = true }, true},
		{"one that calls it the loss of data, which is here", func(r *drbd.Resource) { r.Suspended.NoData = true }, true},
		{"one whose data is gone", func(r *drbd.Resource) { r.Suspended.NoData, r.Devices[0].Disk = true, drbd.Diskless }, false},
		{"a Secondary", func(r *drbd.Resource) { r.Suspended.Fencing, r.Role = true, drbd.Secondary }, false},
		{"one that has its peer", func(r *drbd.Resource) {
			r.Suspended.Fencing, r.Peers = true, []drbd.Peer{{Conn: drbd.Connected}}
		}, false},
	} {
		r := alone
		r.Devices = append([]drbd.Device(nil), alone.Devices...)
		c.change(&r)
		if got := decide.Frozen(r); got != c.want {
			t.Errorf("%s: frozen %t", c.says, got)
		}
	}
}
