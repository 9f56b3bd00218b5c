package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/agent/decide"
	"rvol/drbd"
)

// asked has an operation on this copy and its peer.
func (w *world) asked(kind string, generations ...drbd.UUID) *world {
	w.formed()
	w.Desired.Operations = []decide.Operation{{
		ID: "op", Type: kind, Volume: "db", ReplicaUID: "uid-0", WithPeer: &decide.WithPeer{Peer: 1, Generations: generations},
	}}
	return w
}

// outcome is what says tells, or how the operation ended.
func outcome(p decide.Plan) string {
	for _, s := range p.Steps {
		if f, ok := s.(decide.Finish); ok {
			word := map[bool]string{true: "done", false: "failed"}[f.Result.Succeeded]
			return word + ": " + f.Result.Text
		}
	}
	return says(p)
}

func TestOperationsOnTwoCopies(t *testing.T) {
	standAlone := func(w *world) {
		w.kernel().Peers[0].Conn, w.kernel().Peers[0].Devices[0].Repl = drbd.StandAlone, drbd.Off
	}
	gone := func(w *world) { w.kernel().Peers = nil }
	isPrimary := func(w *world) { w.r().Primary, w.kernel().Role = true, drbd.Primary }
	peerPrimary := func(w *world) { w.kernel().Peers[0].Role = drbd.Primary }
	started := func(w *world) { w.Facts.Operations["op"] = decide.OperationFact{Started: true} }
	holds := func(u drbd.UUID) func(*world) {
		return func(w *world) {
			w.Observed.Metadata[lvUUID] = decide.Metadata{Attached: true, Current: u, Generations: drbd.Generations{Current: u}}
		}
	}
	disk := func(d drbd.DiskState) func(*world) { return func(w *world) { w.kernel().Devices[0].Disk = d } }
	differs := func(w *world) { w.kernel().Peers[0].Devices[0].OutOfSync = 4096 }
	again := "\nconnect rvol-db to replica 1 again"
	for _, c := range []planCase{
		{"changes are given up", empty(v84).asked(decide.DiscardOperation).with(gone), "connect rvol-db to replica 1, giving up what was written here alone (operation op)" + again},
		{"on DRBD 9", empty(v9).asked(decide.DiscardOperation).with(standAlone), "connect rvol-db to replica 1, giving up what was written here alone (operation op)" + again},
		{"not of what is in use", empty(v84).asked(decide.DiscardOperation).with(gone).with(isPrimary), "failed: not run: it is in use: what is in use is not given up"},
		{"not when it was interrupted", empty(v84).asked(decide.DiscardOperation).with(gone).with(started), "failed: was interrupted: look how the volume is, and say it again if needed"},
		{"not when they are connected", empty(v84).asked(decide.DiscardOperation), "failed: the copies are connected already"},
		{"what was seen is still there", empty(v84).asked(decide.DiscardOperation, 8).with(gone).with(holds(9)), "connect rvol-db to replica 1, giving up what was written here alone (operation op)" + again},
		{"it was written since", empty(v84).asked(decide.DiscardOperation, 8).with(gone).with(holds(16)), "failed: not run: device 0 was written since it was looked at: its generation is 0000000000000010, was 0000000000000008"},
		{"what it holds is not known", empty(v84).asked(decide.DiscardOperation, 8).with(standAlone), "connect rvol-db to replica 1 again"},
		{"the one that is kept connects too", empty(v84).asked(decide.ReconnectOperation).with(gone).with(isPrimary), "connect rvol-db to replica 1 (operation op)" + again},
		{"or is trying to", empty(v84).asked(decide.ReconnectOperation).with(func(w *world) {
			w.kernel().Peers[0].Conn, w.kernel().Peers[0].Devices[0].Repl = drbd.Connecting, drbd.Off
		}), "done: DRBD tries to connect by itself"},
		{"or is connected already", empty(v84).asked(decide.ReconnectOperation), "done: the copies are connected already"},
		{"no peer of that id", empty(v9).asked(decide.ReconnectOperation).with(func(w *world) { w.Desired.Operations[0].WithPeer.Peer = 5 }), "failed: not run: replica 5 is not another copy of it"},
		{"not of a volume that is not formed", empty(v9).asked(decide.ForceOperation).with(func(w *world) { w.r().Formed = false; w.settle() }), "failed: not run: it is not a copy of a formed volume"},

		{"old data is taken as good", empty(v9).asked(decide.ForceOperation).with(disk(drbd.Outdated)).with(standAlone), "take the data of rvol-db here as good (operation op)" + again},
		{"while the peer is tried", empty(v84).asked(decide.ForceOperation).with(disk(drbd.Inconsistent)).with(func(w *world) { w.kernel().Peers[0].Conn = drbd.Connecting }), "take the data of rvol-db here as good (operation op)"},
		{"not beside what is good", empty(v9).asked(decide.ForceOperation).with(disk(drbd.Outdated)), "failed: not run: a copy that is UpToDate is connected (replica 1)"},

		{"both are compared", empty(v84).asked(decide.VerifyOperation), "compare rvol-db with replica 1 (operation op)"},
		{"not with one that is away", empty(v9).asked(decide.VerifyOperation).with(func(w *world) { w.kernel().Peers[0].Conn = drbd.Connecting }), "operation op waits: replica 1 is not connected"},
		{"not with one that is old", empty(v9).asked(decide.VerifyOperation).with(func(w *world) { w.kernel().Peers[0].Devices[0].Disk = drbd.Inconsistent }), "operation op waits: device 0 is UpToDate, of replica 1 Inconsistent, Established"},

		{"what differs is copied", empty(v84).asked(decide.RepairOperation).with(differs).with(isPrimary), "copy what differs between rvol-db and replica 1 (operation op)"},
		{"on 9 to this one", empty(v9).asked(decide.RepairOperation).with(differs).with(peerPrimary), "copy what differs between rvol-db and replica 1 (operation op)"},
		{"on 8.4 never over a Primary", empty(v84).asked(decide.RepairOperation).with(differs).with(peerPrimary), "failed: not run: the copy that is to be mended is in use"},
		{"on 9 neither", empty(v9).asked(decide.RepairOperation).with(differs).with(isPrimary), "failed: not run: the copy that is to be mended is in use"},
		{"nothing is known to differ", empty(v9).asked(decide.RepairOperation), "failed: not run: nothing is known to differ any more: compare again"},
		{"never from what is not UpToDate", empty(v9).asked(decide.RepairOperation).with(differs).with(func(w *world) { w.kernel().Peers[0].Devices[0].Disk = drbd.Consistent }), "operation op waits: device 0 is UpToDate, of replica 1 Consistent, Established"},
	} {
		if diff := cmp.Diff(c.want, outcome(decide.Next(c.w.Input, res))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// How a verify ends is told by events alone: a state that is Established again says nothing.
func TestTheEndOfAVerify(t *testing.T) {
	pair := drbd.Pair{Peer: 1}
	w := func(repl drbd.ReplState, base *decide.Verifying, past drbd.Past) *world {
		w := empty(v9).asked(decide.VerifyOperation)
		w.Facts.Operations["op"] = decide.OperationFact{Started: true}
		w.kernel().Peers[0].Devices[0].Repl, w.kernel().Peers[0].Devices[0].OutOfSync = repl, 8192
		w.Observed.Stream, w.Observed.Past = 2, map[drbd.Pair]drbd.Past{pair: past}
		if base != nil {
			w.Facts.Verifying = map[string]decide.Verifying{"op": *base}
		}
		return w
	}
	begun := &decide.Verifying{Stream: 2, Past: map[drbd.Pair]drbd.Past{pair: {Verified: 3, BrokenOff: 1}}}
	before := &decide.Verifying{Stream: 1, Past: map[drbd.Pair]drbd.Past{pair: {Verified: 3}}}
	lost := "failed: the comparison was broken off, or its end was not seen"
	for _, c := range []planCase{
		{"it runs", w(drbd.VerifyS, begun, drbd.Past{Verified: 3, BrokenOff: 1}), "operation op waits: it is being compared with replica 1"},
		{"its end was told", w(drbd.Established, begun, drbd.Past{Verified: 4, BrokenOff: 1}), "done: 8192 bytes differ"},
		{"its end is to be told", w(drbd.Established, begun, drbd.Past{Verified: 3, BrokenOff: 1}), "operation op waits: the end of the comparison is to be told"},
		{"it was broken off", w(drbd.Established, begun, drbd.Past{Verified: 3, BrokenOff: 2}), "failed: the comparison was broken off: the copies lost each other"},
		{"the stream of events is another", w(drbd.Established, before, drbd.Past{}), lost},
		{"which has told the end", w(drbd.Established, before, drbd.Past{Verified: 1}), "done: 8192 bytes differ"},
		{"the agent is another", w(drbd.Established, nil, drbd.Past{}), lost},
		{"and sees it run", w(drbd.VerifyS, nil, drbd.Past{}), "operation op waits: it is being compared with replica 1"},
	} {
		if diff := cmp.Diff(c.want, outcome(decide.Next(c.w.Input, res))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestSinceWhenCopiesStandApart(t *testing.T) {
	then, now := time.Unix(100, 0), time.Unix(200, 0)
	since := func(w *world) string {
		got := decide.PartedSince(map[drbd.NodeID]time.Time{1: then}, w.Desired, w.Observed, res, now)
		fresh := decide.PartedSince(nil, w.Desired, w.Observed, res, now)
		name := func(m map[drbd.NodeID]time.Time) string {
			return map[time.Time]string{{}: "together", then: "apart since then", now: "apart since now"}[m[1]]
		}
		return strings.Join([]string{name(got), name(fresh)}, ", ")
	}
	for _, c := range []struct {
		says string
		w    *world
		want string
	}{
		{"given up", empty(v9).formed().with(func(w *world) { w.kernel().Peers[0].Conn = drbd.StandAlone }), "apart since then, apart since now"},
		{"forgotten by 8.4", empty(v84).formed().with(func(w *world) { w.kernel().Peers = nil }), "apart since then, apart since now"},
		{"tried", empty(v9).formed().with(func(w *world) {
			w.kernel().Peers[0].Conn, w.kernel().Peers[0].Devices[0].Repl = drbd.Connecting, drbd.Off
		}), "apart since then, together"},
		{"shaking hands", empty(v9).formed().with(func(w *world) { w.kernel().Peers[0].Devices[0].Repl = drbd.Off }), "apart since then, together"},
		{"together", empty(v9).formed(), "together, together"},
		{"no peer any more", empty(v9).formed().with(func(w *world) { w.r().Peers = nil }), "together, together"},
	} {
		if got := since(c.w); got != c.want {
			t.Errorf("%s: %s, want %s", c.says, got, c.want)
		}
	}
}
