package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// inBubble runs the scheduler on a world in fake time.
func inBubble(t *testing.T, l func(t *testing.T) *ledgerWorld, f func(l *ledgerWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		world := l(t)
		var run sync.WaitGroup
		run.Go(func() { world.run(ctx, NewScheduling()) })
		f(world)
		cancel()
		run.Wait()
	})
}

func pools(extents ...int64) func(*testing.T) *ledgerWorld {
	return func(t *testing.T) *ledgerWorld { t.Helper(); return newLedgerWorld(t, extents...) }
}

func settle(d time.Duration) { time.Sleep(d); synctest.Wait() }

func TestAVolumeIsPlacedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	inBubble(t, pools(1000, 10), func(l *ledgerWorld) {
		l.volume("v", gib, 2)
		settle(time.Minute)
		if got := l.placed(); len(got) != 0 {
			t.Errorf("placed: %v", got)
		}
		for r := range state.All[*model.Reservation](l.store.View()) {
			t.Errorf("reservation %s in %s for a volume that has no place", r.Name, r.Pool)
		}
		c, _ := scheduled(l.store.View(), "v")
		if c.Status != model.False || !says(c, "would do", "placed whole or not at all") {
			t.Errorf("condition of the replica that would fit: %+v", c)
		}
		l.put(capacityOf(1, 1000))
		settle(time.Minute)
		if got := l.placed(); !slices.Equal(got, []string{"v"}) {
			t.Errorf("after the pool grew, placed: %v", got)
		}
	})
}

// The race of longhorn issue 10422.
func TestOfAThousandConcurrentVolumesAsManyArePlacedAsFit(t *testing.T) {
	t.Parallel()
	const volumes, fit = 1000, 640
	one := BackingBytes(gib, "9", extent)
	inBubble(t, pools(fit*one/extent+17), func(l *ledgerWorld) {
		l.applied = func(v state.View, _ state.Txn, _ bool) {
			if c, _ := state.Get[*model.Capacity](v, poolID(0).String()); c != nil && v.Charged(c.Pool) > c.Limit() {
				t.Errorf("entry %d: %d bytes reserved of %d", v.Index(), v.Charged(c.Pool), c.Limit())
			}
		}
		var all sync.WaitGroup
		for i := range volumes {
			all.Go(func() { l.volume(fmt.Sprintf("v%d", i), gib, 1) })
		}
		all.Wait()
		settle(10 * time.Minute)
		v := l.store.View()
		checkLedger(t, v)
		if got := len(l.placed()); got != fit {
			t.Errorf("%d volumes are placed, %d fit", got, fit)
		}
		for vol := range state.All[*model.Volume](v) {
			c, ok := scheduled(v, vol.Name)
			if !ok || c.Status == model.True {
				continue
			}
			if c.Reason != "SchedulingFailed" || !says(c, "no capacity", "1.00 GiB asked: n0/vg0 lacks ") {
				t.Errorf("loser %s is told %q: want the pool and what it lacks", vol.Name, c.Message)
			}
		}
	})
}

func TestAPoolThatRefusesIsNotAskedAgainAndTheNextTakesTheVolume(t *testing.T) {
	t.Parallel()
	inBubble(t, pools(1000, 900, 800, 700), func(l *ledgerWorld) {
		asked := map[string]int{}
		l.refuse = func(txn state.Txn) error {
			for _, full := range []string{"n0", "n1", "n2"} { // the best three are always full when it counts
				if strings.Contains(txn.Cause, "on node "+full+",") {
					asked[full]++
					return &model.Refusal{Constraint: model.ConstraintCapacity, Object: "pool " + full + "/vg0", Asked: gib, Reason: "full"}
				}
			}
			return nil
		}
		l.volume("v", gib, 1)
		settle(time.Minute)
		r, _ := state.Get[*model.Replica](l.store.View(), "v/0")
		if r.Node != "n3" {
			t.Errorf("placed on %q", r.Node)
		}
		for node, n := range asked {
			if n != 1 {
				t.Errorf("%s was asked %d times", node, n)
			}
		}
		for i := range 3 {
			if n := l.store.View().Charged(poolID(i)); n != 0 {
				t.Errorf("pool %d is charged %d bytes after it refused", i, n)
			}
		}
	})
}

func TestALargeVolumeIsNotStarvedBySmallOnes(t *testing.T) {
	t.Parallel()
	inBubble(t, pools(1000), func(l *ledgerWorld) {
		small, live := 0, []string{}
		create := func() {
			small++
			name := fmt.Sprintf("small-%d", small)
			l.volume(name, 80*mib, 1)
			live = append(live, name)
		}
		for range 47 { // 21 extents each: full
			create()
		}
		settle(time.Second)
		l.volume("large", 2*gib, 1)
		settle(time.Second)
		r, _ := state.Get[*model.Replica](l.store.View(), "large/0")
		since := r.WaitingSince
		if since == 0 {
			t.Fatal("the large volume does not wait")
		}
		for range 300 { // each round gives back the oldest small one, and asks for another
			oldest := live[0]
			live = live[1:]
			l.remove(oldest)
			create()
			settle(100 * time.Millisecond)
			r, _ = state.Get[*model.Replica](l.store.View(), "large/0")
			if r.Node != "" {
				break
			}
			live = slices.DeleteFunc(live, func(name string) bool { // what waits gives nothing back
				s, _ := state.Get[*model.Replica](l.store.View(), name+"/0")
				return s == nil
			})
		}
		if r.Node == "" {
			t.Fatalf("after %d small volumes the large one still waits: %+v", small, r.Conditions)
		}
		overtook := 0
		for res := range state.All[*model.Reservation](l.store.View()) {
			if strings.HasPrefix(res.Owner, "small") && res.Revision > since && res.Revision < r.Revision {
				overtook++
			}
		}
		if overtook > agedAfter {
			t.Errorf("%d small volumes were placed before it, the bound is %d entries", overtook, agedAfter)
		}
		t.Logf("%d small volumes overtook it, in %d entries", overtook, r.Revision-since)
	})
}

func TestRoomThatIsKeptIsSaidToThoseWhoMayNotHaveIt(t *testing.T) {
	t.Parallel()
	inBubble(t, pools(600), func(l *ledgerWorld) {
		l.volume("a", 2*gib, 1) // 513 extents
		settle(time.Second)
		l.volume("large", 2*gib, 1)
		settle(time.Second)
		for range agedAfter { // entries pass
			l.put(capacityOf(9, 1))
		}
		settle(time.Second)
		l.volume("small", 80*mib, 1)
		settle(time.Second)
		c, _ := scheduled(l.store.View(), "small")
		if c.Status != model.False || !says(c, "room is kept for large", "node n0, vg0") {
			t.Errorf("small is told %q", c.Message)
		}
		l.remove("large")
		settle(time.Second)
		if got := l.placed(); !slices.Contains(got, "small") {
			t.Errorf("once the large one is gone, placed: %v", got)
		}
	})
}

func told(t *testing.T, d *model.Decision) []model.DecisionReplica {
	t.Helper()
	replicas, err := d.Told()
	if err != nil {
		t.Fatal(err)
	}
	return replicas
}

func TestDecisionsAreKeptWithTheEntryThatMadeThem(t *testing.T) {
	t.Parallel()
	inBubble(t, pools(10, 10, 10), func(l *ledgerWorld) {
		l.volume("v", gib, 2)
		settle(time.Second)
		refusals := slices.Collect(state.Under[*model.Decision](l.store.View(), "v/"))
		if len(refusals) != 1 || refusals[0].Placed || len(told(t, refusals[0])) != 2 {
			t.Fatalf("after a refusal: %+v", refusals)
		}
		for i := range 3 {
			l.put(capacityOf(i, int64(1000+i)))
			settle(time.Second)
		}
		v := l.store.View()
		got := slices.Collect(state.Under[*model.Decision](v, "v/"))
		last := got[len(got)-1]
		r, _ := state.Get[*model.Replica](v, "v/0")
		if len(got) != 2 || !last.Placed || last.Revision != r.Revision {
			t.Fatalf("decisions: %+v; the replica was placed by entry %d", got, r.Revision)
		}
		d := told(t, last)[0]
		if d.Node != r.Node || !d.Chosen || len(d.Alternatives) != 3 || !d.Alternatives[0].Chosen || d.Alternatives[0].Available == 0 || len(d.Alternatives[0].Parts) == 0 {
			t.Errorf("of replica 0: %+v", d)
		}
		l.remove("v")
		settle(time.Second)
		for d := range state.All[*model.Decision](l.store.View()) {
			t.Errorf("decision %s outlived its volume", d.Name)
		}
	})
}
