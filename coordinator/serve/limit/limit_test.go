package limit_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/limit"
)

func TestABucketFillsWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(limit.Config{Rate: 10, Burst: 3})
		call := func(who string) error {
			leave, err := l.Enter(t.Context(), who)
			if err == nil {
				leave()
			}
			return err
		}
		for range 3 {
			if err := call("anna"); err != nil {
				t.Fatal(err)
			}
		}
		err := call("anna")
		r, ok := errors.AsType[*door.Refused](err)
		if !errors.Is(err, model.ErrOverloaded) || !ok || r.RetryAfter != 100*time.Millisecond {
			t.Fatalf("the fourth call at once: %v, want it told to come again after 100ms", err)
		}
		if err := call("ben"); err != nil {
			t.Errorf("another client: %v", err)
		}
		time.Sleep(r.RetryAfter)
		if err := call("anna"); err != nil {
			t.Errorf("after that time: %v", err)
		}
	})
}

func TestQueuesAreBoundedAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(limit.Config{Running: 1, Waiting: 2})
		leave, err := l.Enter(t.Context(), "anna")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := l.Enter(ctx, "anna")
				ended <- err
			}()
		}
		synctest.Wait()
		if _, err := l.Enter(t.Context(), "anna"); !errors.Is(err, model.ErrOverloaded) {
			t.Errorf("a third that waits: %v, want it refused", err)
		}
		cancel()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("one that gave up: %v", err)
			}
		}
		leave()
		if leave, err = l.Enter(t.Context(), "ben"); err != nil {
			t.Fatalf("after all that: %v", err)
		}
		leave()
	})
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	l := limit.New(limit.Config{Streams: 1})
	closed, err := l.Open("anna")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Open("anna"); !errors.Is(err, model.ErrOverloaded) {
		t.Errorf("a second stream: %v, want it refused", err)
	}
	closed()
	if _, err := l.Open("anna"); err != nil {
		t.Errorf("after the first was closed: %v", err)
	}
}

// TestAClientAtAHundredTimesDoesNotSlowAnother compares how long the calls of a quiet client
// take while it is alone and beside one that makes a hundred times as many.
func TestAClientAtAHundredTimesDoesNotSlowAnother(t *testing.T) {
	for name, c := range map[string]limit.Config{
		"as a coordinator is":   {},
		"with few places":       {Running: 8},
		"kept by turns alone":   {Running: 8, Rate: 1e6},
		"kept by a short queue": {Running: 8, Waiting: 4, Rate: 1e6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				alone, refused := p99(t, c, 0)
				if refused > 0 {
					t.Errorf("alone, %d calls were refused", refused)
				}
				beside, refused := p99(t, c, 100)
				if refused > 0 {
					t.Errorf("%d calls of the quiet client were refused", refused)
				}
				t.Logf("p99 alone %s, beside the other %s", alone, beside)
				if beside > 2*alone {
					t.Errorf("p99 %s beside the other, %s alone: want at most twice that", beside, alone)
				}
			})
		})
	}
}

// p99 is of the quiet client's calls, which take 5 ms each once they are let in.
func p99(t *testing.T, c limit.Config, times int) (took time.Duration, refused int) {
	t.Helper()
	l := limit.New(c)
	const calls, every = 200, 50 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	call := func(who string) error {
		leave, err := l.Enter(ctx, who)
		if err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
		leave()
		return nil
	}
	if times > 0 {
		all.Go(func() {
			for ctx.Err() == nil {
				all.Go(func() { _ = call("loud") }) // refused or not: it does not wait for the answer
				time.Sleep(every / time.Duration(times))
			}
		})
	}
	var lasted []time.Duration
	for range calls {
		begun := time.Now()
		if call("quiet") != nil {
			refused++
		}
		lasted = append(lasted, time.Since(begun))
		time.Sleep(every - time.Since(begun)%every)
	}
	cancel()
	all.Wait()
	slices.Sort(lasted)
	return lasted[len(lasted)*99/100], refused
}
