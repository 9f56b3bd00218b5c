package decide_test

import (
	"testing"

	"rvol/agent/decide"
	"rvol/drbd"
)

// starved has a thin volume whose disk DRBD let go of, and a pool that is full to so many percent.
func (w *world) starved(data float64) *world {
	w.r().Devices[0].Backing.ThinPool = "tp"
	w.formed()
	w.kernel().Devices[0].Disk = drbd.Diskless
	w.Observed.LVs[0].ThinPool = "tp"
	w.Observed.Metadata[lvUUID] = decide.Metadata{Current: 7, Device: w.r().DeviceUUID(0)}
	w.Observed.VGs[0].ThinPools = []decide.ThinPool{{Name: "tp", UUID: "pool-1", DataPercent: data, MetadataPercent: 10}}
	return w
}

// TestADiskThatWasDetachedByAFullPool looks twice: with the pool full, and as each case has it.
func TestADiskThatWasDetachedByAFullPool(t *testing.T) {
	t.Parallel()
	room := func(w *world) { w.Observed.VGs[0].ThinPools[0].DataPercent = 60 }
	for _, tc := range []struct {
		name   string
		first  float64
		change func(*world)
		want   string
	}{
		{"it is full still", 100, func(*world) {}, "refused (no-space): disk of rvol-db/0 was detached: data of thin pool vg0/tp is at 100 %: extend the pool..."},
		{"its metadata is full", 100, func(w *world) {
			room(w)
			w.Observed.VGs[0].ThinPools[0].MetadataPercent = 96.5
		}, "refused (no-space): disk of rvol-db/0 was detached: metadata of thin pool vg0/tp is at 96.5 %..."},
		{"it has room", 100, room, "attach disk of rvol-db/0"},
		{"it was never full: the disk failed", 60, room, "refused (other): disk of rvol-db/0 was detached after an I/O error..."},
		{"it was full, and attached since", 100, func(w *world) { room(w); w.kernel().Devices[0].Disk = drbd.UpToDate }, ""},
		{"the other copy is not there", 100, func(w *world) {
			room(w)
			w.kernel().Peers[0].Conn = drbd.Connecting
		}, "refused (other): disk of rvol-db/0 was detached when its thin pool was full: waiting for an UpToDate copy..."},
		{"the other copy has no disk either", 100, func(w *world) {
			room(w)
			w.kernel().Peers[0].Devices[0].Disk = drbd.Diskless
		}, "refused (other): disk of rvol-db/0 was detached when its thin pool was full: waiting for an UpToDate copy..."},
		{"there is no other copy", 100, func(w *world) {
			room(w)
			w.r().Peers, w.kernel().Peers = nil, nil
			w.settle()
		}, "attach disk of rvol-db/0"},
		{"no coordinator has spoken", 100, func(w *world) { room(w); w.Facts.Confirmed = false }, "refused (other): disk of rvol-db/0 was detached when its thin pool was full: waiting for a coordinator..."},
	} {
		var cases []planCase
		for _, v := range []drbd.Version{v84, v9} {
			w := empty(v).starved(tc.first)
			before := decide.Starved(nil, w.Input, res)
			tc.change(w)
			w.Facts.Starved = decide.Starved(before, w.Input, res)
			cases = append(cases, planCase{tc.name + " on " + v.Kernel.String(), w, tc.want})
		}
		check(t, cases)
	}
}
