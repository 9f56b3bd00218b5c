package control

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestTheTurnstileLetsOneThroughAtATimeAndNobodyWaitsForEver(t *testing.T) {
	t.Parallel()
	const people, times = 50, 200
	var stile turnstile
	var all sync.WaitGroup
	inside, passed, left := 0, 0, 0 // guarded by the turnstile: the race detector tells
	for range people {
		all.Go(func() {
			for range times {
				mine := false
				stile.pass(func() {
					if inside++; inside != 1 {
						t.Errorf("%d at a time", inside)
					}
					passed++
					mine = true
					inside--
				})
				if !mine {
					t.Error("it returned before it was done")
				}
				stile.leave(func() { left++ })
			}
		})
	}
	all.Wait()
	stile.pass(func() {})
	if passed != people*times || left != people*times {
		t.Errorf("%d passed and %d left, want %d of each", passed, left, people*times)
	}
}

func TestTheTurnstileKeepsTheOrderAndIsHandedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const behind = 3 * mostErrands
		var stile turnstile
		var order []int
		var all sync.WaitGroup
		hold := make(chan struct{})
		var done, whenFirstWent atomic.Int64
		all.Go(func() {
			stile.pass(func() { <-hold })
			whenFirstWent.Store(done.Load())
		})
		synctest.Wait()
		for i := range behind {
			all.Go(func() {
				stile.pass(func() {
					order = append(order, i)
					if done.Add(1) == behind-1 {
						synctest.Wait() // whoever can go has gone
					}
				})
			})
			synctest.Wait()
		}
		close(hold)
		all.Wait()
		for i, n := range order {
			if i != n {
				t.Fatalf("number %d came as number %d", n, i)
			}
		}
		if len(order) != behind {
			t.Errorf("%d of %d were done", len(order), behind)
		}
		if n := whenFirstWent.Load(); n == 0 || n >= behind-1 {
			t.Errorf("the first went when %d of %d were done, want it to hand over", n, behind)
		}
	})
}
