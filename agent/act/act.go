package act

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"rvol/agent/decide"
	"rvol/agent/observe"
	"rvol/agent/storage"
	"rvol/drbd"
	"rvol/lvm"
)

// Config is what an Engine works with.
type Config struct {
	Log     *slog.Logger
	Root    string // where /etc and /dev are; "/" on a real machine
	Journal *Journal
	LVM     *observe.LVM
	DRBD    *observe.DRBD
	Tool    *lvm.Tool
	Locks   *storage.Locks
	Changed func() // what States tells has changed
	Doing   func() // another step has begun
	// MayServeAlone asks the coordinators whether a resource of DRBD 8.4 may
	// become Primary without its peer; an error is a no.
	MayServeAlone func(ctx context.Context, resource string) error
	// Hook is called after every step; an error ends Run there and then, as
	// a crash would. Nil: none.
	Hook func(point string) error
}

// An Engine brings the machine nearer to the order, each resource by itself.
type Engine struct {
	Config
	poke chan struct{} // some key is dirty

	mu      sync.Mutex
	order   decide.Desired
	kept    []decide.Resource // of earlier orders
	ordered bool
	facts   struct { // of this process alone
		confirmed bool
		applied   map[string]string     // by resource: the file that the kernel runs
		metadata  map[string]remembered // by LV UUID
		together  map[string]int64
		apart     map[string]map[drbd.NodeID]time.Time // by resource
		stuck     map[string]map[drbd.NodeID]time.Time // by resource
		wasUp     map[string]bool                      // by resource
		starved   map[string]map[int]bool              // by resource: see decide.Facts
		told      map[string]told                      // by resource
		verifying map[string]decide.Verifying          // by operation
		held      map[string]int64                     // see decide.Facts
	}
	sole  sync.Mutex           // held while a grant is used, or found to be over
	tried map[string]time.Time // when a connection was last tried again
	keys  map[string]*key
	links map[string]string // by name below /dev
}

// NewEngine makes an Engine without an order.
func NewEngine(c Config) *Engine {
	e := &Engine{Config: c, poke: make(chan struct{}, 1), keys: map[string]*key{}}
	e.facts.wasUp, e.facts.starved = map[string]bool{}, map[string]map[int]bool{}
	e.facts.told, e.facts.held = map[string]told{}, map[string]int64{}
	e.facts.apart, e.facts.verifying = map[string]map[drbd.NodeID]time.Time{}, map[string]decide.Verifying{}
	e.facts.stuck = map[string]map[drbd.NodeID]time.Time{}
	e.facts.applied, e.facts.metadata, e.facts.together, e.tried = map[string]string{}, map[string]remembered{}, map[string]int64{}, map[string]time.Time{}
	return e
}

// Order puts an order in force. confirmed: a coordinator said so since this
// process started; one that is not never takes such a one's place.
func (e *Engine) Order(d decide.Desired, confirmed bool) {
	kept := e.Journal.Kept()
	e.mu.Lock()
	if e.facts.confirmed && !confirmed {
		e.mu.Unlock()
		return
	}
	before, as := e.order, e.ordered && e.facts.confirmed == confirmed
	e.order, e.kept, e.ordered, e.facts.confirmed = d, kept, true, confirmed
	wanted := map[string]bool{}
	for _, r := range kept {
		wanted[r.Name] = true
		e.key(r.Name).dirty = true
	}
	for _, name := range d.Keys() {
		wanted[name] = true
		k := e.key(name)
		if as && k.refusals > 0 && d.SameFor(before, name) {
			continue // it would be refused again: it has its turn when that is due
		}
		k.dirty, k.ordered, k.tries, k.refusals, k.after = true, true, 0, 0, time.Time{}
	}
	maps.DeleteFunc(e.keys, func(name string, k *key) bool { return !wanted[name] && !k.running })
	e.mu.Unlock()
	e.LVM.Serve(d)
	e.wake()
	e.Changed()
}

func (e *Engine) key(name string) *key {
	k, ok := e.keys[name]
	if !ok {
		k = &key{}
		e.keys[name] = k
	}
	return k
}

// Poke says that something about these keys may have changed, or about any.
func (e *Engine) Poke(names ...string) {
	e.mu.Lock()
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(e.keys))
	}
	for _, name := range names {
		if k, ok := e.keys[name]; ok {
			k.dirty = true
		}
	}
	e.mu.Unlock()
	e.wake()
}

// PokeHopeful looks at everything again that was not given up.
func (e *Engine) PokeHopeful() {
	e.mu.Lock()
	for _, k := range e.keys {
		k.dirty = k.dirty || !k.failedForGood()
	}
	e.mu.Unlock()
	e.wake()
}

func (e *Engine) wake() {
	select {
	case e.poke <- struct{}{}:
	default:
	}
}

// everything is looked at again this often, should an event have been missed.
const everything = time.Minute

// Run works until ctx ends or the hook says so. It returns when no step runs
// any more.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	crashes := make(chan error, 1)
	e.readLinks()
	tick := time.NewTicker(everything)
	defer tick.Stop()
	for {
		timer := time.NewTimer(e.start(ctx, &workers, crashes))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case err := <-crashes:
			timer.Stop()
			return err
		case <-tick.C:
			e.readLinks()
			e.PokeHopeful()
		case <-e.poke:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// start begins the work on all keys whose turn it is, and tells how long it is
// until the next one's.
func (e *Engine) start(ctx context.Context, workers *sync.WaitGroup, crashes chan<- error) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	next := everything
	if !e.ordered {
		return next
	}
	for _, name := range slices.Sorted(maps.Keys(e.keys)) {
		k := e.keys[name]
		if k.running || !k.dirty {
			continue
		}
		if wait := time.Until(k.after); wait > 0 {
			next = min(next, wait)
			continue
		}
		k.dirty, k.ordered, k.running = false, false, true
		workers.Go(func() {
			if err := e.work(ctx, name); err != nil {
				select {
				case crashes <- err:
				default: // another has crashed already
				}
			}
		})
	}
	return next
}

// work does one round for one key, and notes how it went. Its error is the
// hook's.
func (e *Engine) work(ctx context.Context, name string) error {
	plan, again, failed, crash := e.round(ctx, name)
	e.mu.Lock()
	k := e.key(name)
	changed := !samePlan(k.plan, plan) || !sameRefusal(k.failed, failed) || k.doing != ""
	k.plan, k.failed, k.doing, k.running = plan, failed, "", false
	if definitely(plan, failed) && !k.ordered {
		k.refuse()
		changed = true // how often is told
	} else {
		k.refusals = 0
		k.settle(failed != nil || refused(plan), again)
	}
	if !k.dirty && e.growing(name) {
		k.dirty, k.after = true, time.Now().Add(growingPeriod)
	}
	if wait := e.tellsIn(name); !k.dirty && wait > 0 {
		k.dirty, k.after = true, time.Now().Add(wait)
	}
	e.mu.Unlock()
	if ctx.Err() == nil {
		e.wake()
		if changed {
			e.Changed()
		}
	}
	return crash
}

func refused(p decide.Plan) bool {
	return slices.ContainsFunc(p.States, func(s decide.ReplicaState) bool { return s.Error != "" })
}

// round looks, decides, and carries out the steps. again: there may be more
// to do at once.
func (e *Engine) round(ctx context.Context, name string) (plan decide.Plan, again bool, failed *decide.Refusal, crash error) {
	e.lookAtGrowth(ctx, name)
	in := e.lookAtPools(ctx, name)
	plan = decide.Next(in, name)
	if len(plan.Steps) == 0 && !e.releasing(in, name) {
		if len(decide.Looks(in, name)) == 0 {
			return plan, false, nil, nil
		}
		e.lookAtMetadata(ctx, in, name, true)
		if plan = decide.Next(in, name); len(plan.Steps) == 0 {
			return plan, false, nil, nil
		}
	}
	// Something is to be done: on fresh knowledge only.
	in, failed = e.fresh(ctx, name, plan)
	if failed != nil {
		return plan, false, failed, nil
	}
	plan = decide.Next(in, name)
	for _, step := range plan.Steps {
		e.doing(name, step)
		start := time.Now()
		err := ctx.Err()
		if err == nil {
			err = e.do(ctx, in, step)
		}
		e.Log.InfoContext(ctx, "step", "resource", name, "step", step.String(), "took", time.Since(start), "err", err)
		if err == nil {
			err = e.reached("step: " + step.String())
		}
		if crash, ok := errors.AsType[*CrashError](err); ok {
			return plan, false, nil, crash
		}
		if err != nil {
			failed = explain(step, err)
			seen, _ := in.Observed.Resource(name)
			e.nameUsers(failed, step, err, seen)
			return plan, false, failed, nil
		}
	}
	return plan, len(plan.Steps) > 0, nil, nil
}

// reached calls the hook.
func (e *Engine) reached(point string) error {
	if e.Hook == nil {
		return nil
	}
	if err := e.Hook(point); err != nil {
		return &CrashError{Err: err}
	}
	return nil
}

// releasing: what is to be proven gone must be looked for now.
func (e *Engine) releasing(in decide.Input, name string) bool {
	e.mu.Lock()
	proven := e.key(name).plan.Released
	e.mu.Unlock()
	for _, r := range in.Desired.Releases {
		if r.Resource == name && !slices.Contains(proven, r.Reservation) {
			return true
		}
	}
	return false
}

func (e *Engine) doing(name string, step decide.Step) {
	e.mu.Lock()
	e.key(name).doing = step.String()
	e.mu.Unlock()
	e.Doing()
}

// States is how far every replica has come, and which reservations are proven
// gone.
func (e *Engine) States() (states []decide.ReplicaState, released []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range sortedKeys(e.keys) {
		k := e.keys[name]
		released = append(released, k.plan.Released...)
		for _, s := range k.plan.States {
			if k.doing != "" {
				s.Step = k.doing
			}
			if k.failed != nil {
				s.Refuse(k.failed)
			}
			s.Refusals, s.Failed = k.refusals, k.failedForGood()
			states = append(states, s)
		}
	}
	return states, released
}

// Idle says that no key is being worked on or waits for its turn.
func (e *Engine) Idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range e.keys {
		if k.running || k.dirty {
			return false
		}
	}
	return true
}

func sameRefusal(a, b *decide.Refusal) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func samePlan(a, b decide.Plan) bool {
	return slices.Equal(a.Released, b.Released) && slices.EqualFunc(a.States, b.States, func(x, y decide.ReplicaState) bool {
		return fmt.Sprint(x) == fmt.Sprint(y)
	})
}
