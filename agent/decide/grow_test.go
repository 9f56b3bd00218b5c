package decide_test

import (
	"testing"

	"rvol/drbd"
)

func TestWhoIsLeftWhileAVolumeGrowsHoldsItsSize(t *testing.T) {
	const grown = 40 << 20
	growing := func(v drbd.Version) *world {
		return empty(v).formed().with(func(w *world) {
			w.r().Devices[0].Backing.Size, w.Observed.LVs[0].Size = grown, grown
			f := w.Facts.Backings["res-0"]
			f.MetaAt = 20 << 20
			w.Facts.Backings["res-0"] = f
		})
	}
	apart := func(w *world) { w.kernel().Peers[0].Conn = drbd.Connecting }
	held := func(reservation string) func(*world) {
		return func(w *world) { w.Facts.Held = map[string]int64{reservation: grown} }
	}
	const hold = "hold the size of rvol-db/0"
	check(t, []planCase{
		{"its peer is there", growing(v84), ""},
		{"its peer is away", growing(v84).with(apart), hold},
		{"it holds it", growing(v84).with(apart).with(held("res-0")), ""},
		{"the minor's last volume was held at that size", growing(v84).with(apart).with(held("res-of-another")), hold},
		{"nothing grows", empty(v84).formed().with(apart), ""},
		{"9 needs none of it", growing(v9).with(apart), ""},
	})
}
