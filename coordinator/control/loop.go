package control

import (
	"context"
	crand "crypto/rand"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Sources are what a loop reads and writes.
type Sources struct {
	Store     *state.Store
	Inventory *inventory.Inventory
	Proposer  state.Proposer
	Log       *slog.Logger
	Meter     Meter            // nil: nobody asks how it goes
	Clock     func() time.Time // of the wall; nil: time.Now
}

// workers is how many keys of one controller may be decided at a time, so that their
// transactions share log entries.
const workers = 8

// Back-off after an error (seed 004), and after losing a race.
const (
	retryFrom    = 5 * time.Second
	retryTo      = 2 * time.Minute
	conflictFrom = 10 * time.Millisecond
	conflictTo   = time.Second
)

// Run drives the controllers until ctx ends, which it does when leadership does.
func Run(ctx context.Context, s Sources, controllers ...Controller) {
	var wg sync.WaitGroup
	for _, c := range controllers {
		wg.Go(func() { newLoop(c, s).run(ctx) })
	}
	wg.Wait()
}

// loop drives one controller.
type loop struct {
	c     Controller
	s     Sources
	q     *queue
	log   *slog.Logger
	timer held

	mu    sync.Mutex
	tries map[string]int
}

func newLoop(c Controller, s Sources) *loop {
	if s.Meter == nil {
		s.Meter = noMeter{}
	}
	if s.Clock == nil {
		s.Clock = time.Now
	}
	return &loop{
		c: c, s: s, q: newQueue(), tries: map[string]int{},
		log: s.Log.With("controller", c.Name()),
	}
}

func (l *loop) run(ctx context.Context) {
	defer l.q.close()
	defer l.s.Meter.Queue(l.c.Name(), l.q.depth)()
	defer l.s.Store.Watch(func(_ uint64, keys []model.Key) {
		v := l.s.Store.View()
		for _, changed := range keys {
			affected := l.c.Affected(changed, v)
			if changed.Kind == model.KindCluster {
				affected = l.c.All(v) // reconciling may be over
			}
			for _, key := range affected {
				l.q.add(key)
			}
		}
	})()
	defer l.s.Inventory.Watch(func(node string) {
		for _, key := range l.c.AffectedBy(node, l.s.Store.View()) {
			l.q.add(key)
		}
	})()
	for _, key := range l.c.All(l.s.Store.View()) {
		l.q.add(key)
	}
	var wg sync.WaitGroup
	for range l.workers() {
		wg.Go(func() {
			for {
				key, ok := l.q.take(ctx)
				if !ok {
					return
				}
				again := l.turn(ctx, key)
				l.q.done(key)
				if again > 0 {
					l.q.addAfter(key, again)
				}
			}
		})
	}
	wg.Wait()
}

// workers is how many keys may be decided at a time.
func (l *loop) workers() int {
	if c, ok := l.c.(interface{ Workers() int }); ok {
		return c.Workers()
	}
	return workers
}

// done tells a controller what became of its change.
func (o Outcome) done(err error) {
	if o.Done != nil {
		o.Done(err)
	}
}

// turn lets the controller decide about key once, and returns when to do so again.
func (l *loop) turn(ctx context.Context, key string) time.Duration {
	w := l.world(key)
	if l.waits(w.State) {
		return 0
	}
	began := time.Now()
	out, err := l.c.Decide(w, key)
	took := time.Since(began)
	result, again := Failed, time.Duration(0)
	switch {
	case err != nil:
		again = l.backOff(key, retryFrom, retryTo)
		l.log.WarnContext(ctx, "decision failed", "key", key, "err", err, "again", again)
	case out.Txn == nil || out.Txn.Empty():
		l.calm(key)
		result, again = Settled, out.Again
		if out.Reason != "" {
			result = Waiting
			l.log.DebugContext(ctx, "waiting", "key", key, "reason", out.Reason)
		}
	default:
		result, again = l.carryOut(ctx, key, out)
	}
	l.s.Meter.Decided(l.c.Name(), result, took)
	return again
}

// carryOut proposes the change that was decided on.
func (l *loop) carryOut(ctx context.Context, key string, out Outcome) (Result, time.Duration) {
	txn, err := out.Txn.Txn()
	if err != nil {
		out.done(err)
		again := l.backOff(key, retryFrom, retryTo)
		l.log.ErrorContext(ctx, "change cannot be written down", "key", key, "err", err, "again", again)
		return Failed, again
	}
	rev, err := l.s.Proposer.Propose(ctx, txn)
	out.done(err)
	switch {
	case err == nil:
		l.calm(key)
		l.log.InfoContext(ctx, "changed", "key", key, "cause", txn.Cause, "rev", rev)
		return Changed, out.Again
	case ctx.Err() != nil:
		return Stopped, 0
	case errors.Is(err, model.ErrConflict), errors.Is(err, model.ErrNoSpace), errors.Is(err, model.ErrExists):
		// Somebody was faster. The next look sees what they did.
		again := l.backOff(key, conflictFrom, conflictTo)
		l.log.DebugContext(ctx, "lost a race", "key", key, "cause", txn.Cause, "reason", err.Error(), "again", again)
		if errors.Is(err, model.ErrNoSpace) {
			return NoSpace, again
		}
		return LostRace, again
	default:
		again := l.backOff(key, retryFrom, retryTo)
		l.log.WarnContext(ctx, "change was not taken", "key", key, "cause", txn.Cause, "err", err, "again", again)
		return Failed, again
	}
}

// waits says that the controller has to wait: a state that was restored does not know yet
// what it has forgotten. Only those that say so decide nevertheless.
func (l *loop) waits(v state.View) bool {
	c, ok := state.Get[*model.Cluster](v, model.ClusterName)
	if !ok || !c.Reconciling {
		return false
	}
	_, may := l.c.(interface{ WhileReconciling() })
	return !may
}

func (l *loop) world(key string) World {
	return World{
		State: l.s.Store.View(), Latest: l.s.Store.View, Inventory: l.s.Inventory.View(), Now: l.s.Clock(), Fresh: crand.Text,
		Held: func(name string, holding bool) time.Duration { return l.timer.lasting(key+"\x00"+name, holding) },
	}
}

// backOff doubles from 'from' to 'to' with each failure of key in a row, less up to a fifth.
func (l *loop) backOff(key string, from, to time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.tries[key]
	l.tries[key]++
	d := min(from<<min(n, 20), to)
	return d - rand.N(d/5+1)
}

func (l *loop) calm(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.tries, key)
}

// held remembers since when conditions hold, on the monotonic clock.
type held struct {
	mu    sync.Mutex
	since map[string]time.Time
}

func (h *held) lasting(name string, holding bool) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !holding {
		delete(h.since, name)
		return 0
	}
	if h.since == nil {
		h.since = map[string]time.Time{}
	}
	t, ok := h.since[name]
	if !ok {
		t = time.Now()
		h.since[name] = t
	}
	return time.Since(t)
}
