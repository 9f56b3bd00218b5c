package control

import (
	"errors"
	"strings"
	"testing"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

func cluster1() *model.Cluster {
	c := &model.Cluster{ID: "test", Incarnation: 1, Format: 1}
	c.Name = model.ClusterName
	return c
}

// seen lets the capacity controller act on one report, twice: what must last a while has.
func (l *ledgerWorld) seen(node inventory.Node) {
	l.tb.Helper()
	node.Connected, node.Full, node.Session = true, true, 1
	for range 2 {
		out, err := Capacity{}.Decide(World{
			State: l.store.View(), Inventory: inventory.NewView(&node), Now: time.Now(),
			Held: func(_ string, holding bool) time.Duration {
				if holding {
					return time.Hour
				}
				return 0
			},
		}, node.Name)
		if err != nil {
			l.tb.Fatal(err)
		}
		if out.Txn != nil && !out.Txn.Empty() {
			l.propose(out.Txn)
		}
	}
}

// group is a report of vg0 of node i.
func group(i int, extents, foreign int64, lvs ...inventory.LV) inventory.VG {
	return inventory.VG{Name: "vg0", UUID: poolID(i).VG, ExtentSize: extent, Extents: extents, ForeignExtents: foreign, LVs: lvs}
}

// reserve asks for space as an owner does.
func (l *ledgerWorld) reserve(kind, owner string, claims ...Claim) error {
	b := state.NewTxn("test", "reserve")
	if err := Reserve(l.store.View(), b, time.Now(), Owner{kind, owner}, claims...); err != nil {
		return err
	}
	txn, err := b.Txn()
	if err == nil {
		_, err = l.Propose(l.tb.Context(), txn)
	}
	return err
}

func claim(node string, extents int64) Claim {
	return Claim{Node: node, VG: "vg0", Bytes: extents * extent}
}

func (l *ledgerWorld) wantCharged(i int, extents int64) {
	l.tb.Helper()
	if got := l.store.View().Charged(poolID(i)); got != extents*extent {
		l.tb.Errorf("pool %d is charged %d bytes, want %d extents (%d bytes)", i, got, extents, extents*extent)
	}
}

func wantNoSpace(tb testing.TB, err error, words ...string) {
	tb.Helper()
	if !errors.Is(err, model.ErrNoSpace) {
		tb.Errorf("got %v, want no space", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			tb.Errorf("refused with %q, want it to say %q", err, w)
		}
	}
}

func TestARejectedRequestIsNeverGranted(t *testing.T) {
	t.Parallel()
	l := newLedgerWorld(t, 10)
	ask := func(id string) error {
		b := state.NewTxn("admin/a", "hold").RequestOf(id, "hash")
		if err := Reserve(l.store.View(), b, time.Now(), Owner{model.OwnerHold, "h"}, claim("n0", 20)); err != nil {
			return err
		}
		txn, err := b.Txn()
		if err == nil {
			_, err = l.Propose(t.Context(), txn)
		}
		return err
	}
	wantNoSpace(t, ask("req-1"), "n0/vg0")
	l.put(capacityOf(0, 100))
	wantNoSpace(t, ask("req-1"), "n0/vg0")
	l.wantCharged(0, 0)
	if err := ask("req-2"); err != nil {
		t.Errorf("a new request: %v", err)
	}
	l.wantCharged(0, 20)
}

func TestAGroupWithAnotherUUIDIsAnotherPool(t *testing.T) {
	t.Parallel()
	l := newLedgerWorld(t, 100)
	if err := l.reserve(model.OwnerHold, "h", claim("n0", 60)); err != nil {
		t.Fatal(err)
	}
	back := group(0, 500, 0)
	back.UUID = "another"
	l.seen(inventory.Node{Name: "n0", VGs: []inventory.VG{back}})
	c, _ := state.Get[*model.Capacity](l.store.View(), poolID(0).String())
	if !c.Missing || c.Extents != 100 {
		t.Errorf("the group that is gone: %+v", c)
	}
	wantNoSpace(t, l.reserve(model.OwnerHold, "h2", claim("n0", 1)), "no longer reports")
	l.wantCharged(0, 60)
}

func TestACordonBlocksGrowthOnly(t *testing.T) {
	t.Parallel()
	l := newLedgerWorld(t, 100)
	for _, name := range []string{"h1", "h2"} {
		if err := l.reserve(model.OwnerHold, name, claim("n0", 30)); err != nil {
			t.Fatal(err)
		}
	}
	lvg, _ := state.Get[*model.LVG](l.store.View(), "n0/vg0")
	cordoned := model.Clone(lvg)
	cordoned.Unschedulable = true
	before := l.store.View()
	l.put(cordoned)
	wantNoSpace(t, l.reserve(model.OwnerHold, "h3", claim("n0", 1)), "cordoned")
	b := state.NewTxn("test", "a plan from before the cordon")
	if err := Reserve(before, b, time.Now(), Owner{model.OwnerHold, "h3"}, claim("n0", 1)); err != nil {
		t.Fatal(err)
	}
	txn, _ := b.Txn()
	if _, err := l.Propose(t.Context(), txn); !errors.Is(err, model.ErrConflict) {
		t.Errorf("a plan from before the cordon: %v", err)
	}
	v := l.store.View()
	h1, _ := state.Get[*model.Reservation](v, Owner{model.OwnerHold, "h1"}.Reservation(0, 0))
	h2, _ := state.Get[*model.Reservation](v, Owner{model.OwnerHold, "h2"}.Reservation(0, 0))
	less := model.Clone(h2)
	less.Granted = extent
	l.propose(state.NewTxn("test", "release and shrink").Delete(h1).Put(less))
	l.wantCharged(0, 1)
}

func TestWhatWasThereIsChargedWithoutCondition(t *testing.T) {
	t.Parallel()
	l := newLedgerWorld(t, 10) // an empty coordinator, and a group smaller than what is in it
	l.put(cluster1())
	lv := inventory.LV{Name: "rvol-old.0.1", UUID: "LV-1", Size: 50 * extent, Reservation: "unknown", Cluster: "test"}
	others := inventory.LV{Name: "rvol-x.0.1", UUID: "LV-2", Size: 5 * extent, Reservation: "theirs", Cluster: "another"}
	l.seen(inventory.Node{Name: "n0", VGs: []inventory.VG{group(0, 60, 5, lv, others)}})
	l.wantCharged(0, 50)
	wantNoSpace(t, l.reserve(model.OwnerHold, "h", claim("n0", 10)), "n0/vg0")
	lv.Size = 55 * extent
	l.seen(inventory.Node{Name: "n0", VGs: []inventory.VG{group(0, 60, 5, lv, others)}})
	l.wantCharged(0, 55)
	l.seen(inventory.Node{Name: "n0", VGs: []inventory.VG{group(0, 60, 5, others)}})
	l.wantCharged(0, 0)
}

func TestEveryKindOfOwnerIsCharged(t *testing.T) {
	t.Parallel()
	l := newLedgerWorld(t, 100)
	for i, kind := range []string{model.OwnerSnapshot, model.OwnerImage, model.OwnerHold, "a kind of tomorrow"} {
		if err := l.reserve(kind, "x", claim("n0", 20)); err != nil {
			t.Fatal(err)
		}
		l.wantCharged(0, int64(20*(i+1)))
	}
	wantNoSpace(t, l.reserve(model.OwnerSnapshot, "y", claim("n0", 21)), "n0/vg0")
}

func TestAllCopiesOfAnImageOrNone(t *testing.T) {
	t.Parallel()
	l := newLedgerWorld(t, 100, 100, 10)
	copies := func(extents int64, nodes ...string) []Claim {
		var out []Claim
		for i, n := range nodes {
			c := claim(n, extents)
			c.Copy = i
			out = append(out, c)
		}
		return out
	}
	wantNoSpace(t, l.reserve(model.OwnerImage, "img", copies(20, "n0", "n1", "n2")...), "n2/vg0")
	for i := range 3 {
		l.wantCharged(i, 0)
	}
	if err := l.reserve(model.OwnerImage, "img", copies(20, "n0", "n1", "n0")...); err != nil {
		t.Fatal(err)
	}
	l.wantCharged(0, 40) // two copies, each counted
	l.wantCharged(1, 20)
	if err := l.reserve(model.OwnerImage, "img", copies(20, "n0")...); !errors.Is(err, model.ErrExists) {
		t.Errorf("the same copy once more: %v", err)
	}
}

func TestAGroupOnAnotherNodeIsAnotherPool(t *testing.T) {
	t.Parallel()
	l := newLedgerWorld(t, 100, 100)
	if err := l.reserve(model.OwnerHold, "h", claim("n0", 60)); err != nil {
		t.Fatal(err)
	}
	moved := group(0, 100, 0)
	l.seen(inventory.Node{Name: "n1", VGs: []inventory.VG{group(1, 100, 0), moved}})
	l.wantCharged(0, 60)
	l.wantCharged(1, 0)
	l.seen(inventory.Node{Name: "n0"})
	c, _ := state.Get[*model.Capacity](l.store.View(), poolID(0).String())
	if !c.Missing {
		t.Error("the group is still counted on its old node")
	}
}

func TestALostGroupKeepsItsChargesAndTakesNothing(t *testing.T) {
	t.Parallel()
	l := newLedgerWorld(t, 100)
	if err := l.reserve(model.OwnerHold, "h", claim("n0", 60)); err != nil {
		t.Fatal(err)
	}
	l.seen(inventory.Node{Name: "n0"})
	l.wantCharged(0, 60)
	wantNoSpace(t, l.reserve(model.OwnerHold, "h2", claim("n0", 1)), "no longer reports")
	partial := group(0, 100, 0)
	partial.Partial = true
	l.seen(inventory.Node{Name: "n0", VGs: []inventory.VG{partial}})
	wantNoSpace(t, l.reserve(model.OwnerHold, "h2", claim("n0", 1)), "misses physical volumes")
	l.seen(inventory.Node{Name: "n0", VGs: []inventory.VG{group(0, 100, 0)}})
	if err := l.reserve(model.OwnerHold, "h2", claim("n0", 40)); err != nil {
		t.Errorf("once it is back: %v", err)
	}
}

func TestForeignExtentsAreNotGivenAway(t *testing.T) {
	t.Parallel()
	l := newLedgerWorld(t, 100)
	l.seen(inventory.Node{Name: "n0", VGs: []inventory.VG{group(0, 100, 70)}})
	wantNoSpace(t, l.reserve(model.OwnerHold, "h", claim("n0", 31)), "n0/vg0")
	if err := l.reserve(model.OwnerHold, "h", claim("n0", 30)); err != nil {
		t.Error(err)
	}
	l.seen(inventory.Node{Name: "n0", VGs: []inventory.VG{group(0, 100, 90)}}) // behind our back
	l.wantCharged(0, 30)
	wantNoSpace(t, l.reserve(model.OwnerHold, "h2", claim("n0", 1)), "n0/vg0")
}

func TestALoweredLimitRevokesNothing(t *testing.T) {
	t.Parallel()
	l := newLedgerWorld(t, 100)
	l.put(percent(100, 200))
	if err := l.reserve(model.OwnerHold, "h", claim("n0", 150)); err != nil {
		t.Fatal(err)
	}
	l.put(percent(100, 100))
	l.wantCharged(0, 150)
	r, _ := state.Get[*model.Reservation](l.store.View(), Owner{model.OwnerHold, "h"}.Reservation(0, 0))
	bound := model.Clone(r)
	bound.State, bound.LVUUID, bound.Observed = model.Bound, "LV-1", r.Granted // what is there is used again
	l.propose(state.NewTxn("test", "bind").Put(bound))
	wantNoSpace(t, l.reserve(model.OwnerHold, "h2", claim("n0", 1)), "n0/vg0")
}

func TestAVolumeIsToldWhichPoolsLackWhat(t *testing.T) {
	t.Parallel()
	inBubble(t, pools(10, 20, 30, 40, 50), func(l *ledgerWorld) {
		l.volume("v", gib, 2)
		settle(time.Second)
		c, _ := scheduled(l.store.View(), "v")
		if !says(c, "no capacity", "n4/vg0 lacks 828 MiB", "n3/vg0 lacks 868 MiB", "and 2 more") {
			t.Errorf("it is told %q", c.Message)
		}
	})
}

func TestAThinPoolThatFillsUpTakesNothingMore(t *testing.T) {
	t.Parallel()
	l := newLedgerWorld(t, 100)
	lvg, _ := state.Get[*model.LVG](l.store.View(), "n0/vg0")
	thin := model.Clone(lvg)
	thin.ThinPools = []model.ThinPool{{Name: "tp", UUID: "TP"}}
	thin.StopDataPercent, thin.StopMetadataPercent = 95, 95
	l.put(thin)
	report := func(data, meta float64) {
		vg := group(0, 100, 50)
		vg.ThinPools = []inventory.ThinPool{{Name: "tp", UUID: "TP", Size: 50 * extent, DataPercent: data, MetadataPercent: meta}}
		l.seen(inventory.Node{Name: "n0", VGs: []inventory.VG{vg}})
	}
	n := int64(0)
	ask := func() error {
		n++
		return l.reserve(model.OwnerHold, "h"+string(rune('a'+n)), Claim{Node: "n0", VG: "vg0", ThinPool: "tp", Bytes: extent})
	}
	for _, tc := range []struct {
		data, meta float64
		stops      string
	}{
		{10, 10, ""},
		{95, 10, "data of thin pool tp reached 95 %"},
		{94.5, 10, "data of thin pool tp reached 95 %"}, // not far enough below yet
		{93.9, 10, ""},
		{10, 95.2, "metadata of thin pool tp reached 95 %"},
		{10, 93, ""},
	} {
		report(tc.data, tc.meta)
		err := ask()
		if tc.stops == "" && err != nil {
			t.Errorf("data %v %%, metadata %v %%: %v", tc.data, tc.meta, err)
		}
		if tc.stops != "" {
			wantNoSpace(t, err, tc.stops)
		}
	}
}

func TestNumbersComeWithTheSpaceAndGoWithIt(t *testing.T) {
	t.Parallel()
	inBubble(t, pools(100_000, 100_000), func(l *ledgerWorld) {
		for round := range 3 {
			for i := range 50 {
				l.volume(names50[round][i], 16*mib, 2)
			}
			settle(time.Minute)
			if got := len(l.placed()); got != 50 {
				t.Fatalf("round %d: %d volumes are placed", round, got)
			}
			checkLedger(t, l.store.View())
			for i := range 50 {
				l.remove(names50[round][i])
			}
			for r := range state.All[*model.Reservation](l.store.View()) {
				t.Errorf("round %d: reservation of %s is left", round, r.Owner)
			}
		}
	})
}

// names50 are names of volumes by round.
var names50 = func() (out [3][50]string) {
	for r := range out {
		for i := range out[r] {
			out[r][i] = "v" + string(rune('a'+r)) + string(rune('a'+i/26)) + string(rune('a'+i%26))
		}
	}
	return out
}()
