package sim

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A cut is one link that loses everything, or one direction of it.
type cut struct {
	a, b   string
	oneWay bool
}

// partitions are the ways in which two data nodes, n1 that uses the volume and n2, and the
// coordinators on n1, n2 and n3 can lose each other. fence: the operator then gives the
// volume to n2.
var partitions = []struct {
	name  string
	cuts  []cut
	fence bool
	goes  bool // n1 goes on by itself
}{
	{name: "the data nodes", cuts: []cut{{a: "n1", b: "n2"}}, goes: true},
	{name: "the data nodes, then fenced", cuts: []cut{{a: "n1", b: "n2"}}, goes: true, fence: true},
	{name: "n1 from all", cuts: []cut{{a: "n1", b: "n2"}, {a: "n1", b: "n3"}}},
	{name: "n1 from all, then fenced", cuts: []cut{{a: "n1", b: "n2"}, {a: "n1", b: "n3"}}, fence: true},
	{name: "n2 from all", cuts: []cut{{a: "n1", b: "n2"}, {a: "n2", b: "n3"}}, goes: true},
	{name: "n1 from n3 alone", cuts: []cut{{a: "n1", b: "n3"}}, goes: true},
	{name: "everybody from everybody", cuts: []cut{{a: "n1", b: "n2"}, {a: "n1", b: "n3"}, {a: "n2", b: "n3"}}},
	{name: "one way, n1 to n2", cuts: []cut{{a: "n1", b: "n2", oneWay: true}}, goes: true},
	{name: "one way, n2 to n1", cuts: []cut{{a: "n2", b: "n1", oneWay: true}}, goes: true},
	{name: "one way, n1 to all", cuts: []cut{{a: "n1", b: "n2", oneWay: true}, {a: "n1", b: "n3", oneWay: true}}},
	{name: "one way, all to n1, then fenced", cuts: []cut{{a: "n2", b: "n1", oneWay: true}, {a: "n3", b: "n1", oneWay: true}}, fence: true},
}

// TestTwoPrimariesNeverBothAcknowledge writes on both data nodes, as far as they let it,
// through every partition, healed in every order of its links, and looks what was
// acknowledged by whom.
func TestTwoPrimariesNeverBothAcknowledge(t *testing.T) {
	t.Parallel()
	for _, p := range partitions {
		for _, order := range []string{"healed in order", "healed backwards", "healed at once"} {
			if order == "healed backwards" && len(p.cuts) == 1 {
				continue
			}
			t.Run(p.name+" "+order, func(t *testing.T) {
				t.Parallel()
				dir, err := tempRoot()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = os.RemoveAll(dir) }() // memory of this test
				log := logTo(t, filepath.Join(t.ArtifactDir(), "partition.log"))
				synctest.Test(t, func(t *testing.T) {
					cl, err := New(Config{Dir: dir, Nodes: 3, Version: "test", Log: log})
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = cl.Close() }() // what failed before is what counts
					if err := cl.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					w := &partitioned{Scripted: NewScripted(cl)}
					w.play(t, p.cuts, order, p.fence, p.goes)
				})
			})
		}
	}
}

// partitioned is a cluster whose volume db-1 is written to on n1 and n2.
type partitioned struct {
	*Scripted

	mu    sync.Mutex
	wrote []written
}

// written is one acknowledged write.
type written struct {
	node  string
	slot  int64
	since time.Time // when it was begun
	at    time.Time // when it was acknowledged
}

const slotSize = 4096

func (w written) data() []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%-16s", fmt.Sprintf("%s %d", w.node, w.slot)), slotSize/16)
}

func (w *partitioned) play(t *testing.T, cuts []cut, order string, fence, goes bool) {
	t.Helper()
	must(t, w.Scripted, "lvg create n1 vg0")
	must(t, w.Scripted, "lvg create n2 vg0")
	must(t, w.Scripted, "class create r2 --ftt 1 --gmdr 0 --type LVM --vg vg0 --trust-zeroed")
	must(t, w.Scripted, "volume create db-1 --size 64MiB --class r2 --wait")
	must(t, w.Scripted, "volume attach db-1 n1 --wait")
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	writers.Go(func() { w.writeOn(ctx, "n1", 0) })
	writers.Go(func() { w.writeOn(ctx, "n2", 4000) })
	defer writers.Wait()
	defer stop()
	time.Sleep(10 * time.Second)
	for _, c := range cuts {
		w.Cluster.Cut(c.a, c.b, c.oneWay)
	}
	begun := time.Now()
	time.Sleep(time.Minute)
	if n := w.count("n1", begun.Add(40*time.Second)); (n > 0) != goes {
		t.Errorf("n1 acknowledged %d writes late in the partition, want some: %t", n, goes)
	}
	if fence {
		w.takeOver(t, goes)
		fence = !goes
	}
	w.mend(cuts, order)
	time.Sleep(30 * time.Second)
	w.rejoin(t, fence)
	stop()
	writers.Wait()
	w.check(t, fence)
}

// takeOver is the operator's word that n1 is off, which it may not be. It is refused when
// n1 went on alone.
func (w *partitioned) takeOver(t *testing.T, alone bool) {
	t.Helper()
	at := time.Now()
	if alone {
		var errs bytes.Buffer
		if w.Rvol(t.Context(), &errs, &errs, strings.Fields("node fence n1 --yes-i-mean n1")) == 0 || !strings.Contains(errs.String(), "went on alone") {
			t.Errorf("n2 would take over without what n1 acknowledged: %s", errs.String())
		}
		return
	}
	must(t, w.Scripted, "node fence n1 --yes-i-mean n1")
	must(t, w.Scripted, "volume attach db-1 n2")
	time.Sleep(time.Minute)
	if w.count("n2", at) == 0 {
		t.Error("n2 acknowledged nothing after it took over")
	}
}

func (w *partitioned) mend(cuts []cut, order string) {
	switch order {
	case "healed in order":
		for _, c := range cuts[:len(cuts)-1] {
			w.HealLink(c.a, c.b)
			time.Sleep(20 * time.Second)
		}
	case "healed backwards":
		for i := len(cuts) - 1; i > 0; i-- {
			w.HealLink(cuts[i].a, cuts[i].b)
			time.Sleep(20 * time.Second)
		}
	}
	w.Cluster.Heal()
}

// rejoin takes n1's power when it lost the volume with writes under way, and waits until
// both copies are good.
func (w *partitioned) rejoin(t *testing.T, lost bool) {
	t.Helper()
	if lost {
		if err := w.Kill("n1"); err != nil {
			t.Fatal(err)
		}
		if err := w.Start("n1"); err != nil {
			t.Fatal(err)
		}
	}
	for range 600 {
		if strings.Contains(must(t, w.Scripted, "volume list"), "ready") {
			return
		}
		time.Sleep(time.Second)
	}
	t.Fatalf("the copies do not come together:\n%s", must(t, w.Scripted, "volume show db-1"))
}

// writeOn writes one slot after the other. What is not acknowledged in time is not
// written again: it may be there or not.
func (w *partitioned) writeOn(ctx context.Context, node string, slot int64) {
	for ; ctx.Err() == nil; slot++ {
		one := written{node: node, slot: slot, since: time.Now()}
		call, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := w.Write(call, node, "db-1", slot*slotSize, one.data())
		cancel()
		if err == nil {
			one.at = time.Now()
			w.mu.Lock()
			w.wrote = append(w.wrote, one)
			w.mu.Unlock()
		} else {
			slot--
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func (w *partitioned) count(node string, since time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, one := range w.wrote {
		if one.node == node && one.at.After(since) {
			n++
		}
	}
	return n
}

// check wants that n1 acknowledged nothing once n2 had, and that all of it is there.
func (w *partitioned) check(t *testing.T, passed bool) {
	t.Helper()
	user := "n1"
	if passed {
		user = "n2"
	}
	var last, first time.Time
	for _, one := range w.wrote {
		if one.node == "n1" && one.at.After(last) {
			last = one.at
		}
		if one.node == "n2" && (first.IsZero() || one.at.Before(first)) {
			first = one.at
		}
		got, err := w.Read(t.Context(), user, "db-1", one.slot*slotSize, slotSize)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, one.data()) {
			t.Errorf("%s acknowledged slot %d at %v: it reads %.16q on %s", one.node, one.slot, one.at, got, user)
		}
	}
	if !first.IsZero() && !last.Before(first) {
		t.Errorf("n1 acknowledged until %v, and n2 from %v on", last, first)
	}
	t.Logf("%d writes were acknowledged", len(w.wrote))
}
