package fence

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
	"rvol/drbd"
)

// The exit codes of `rvol-agent fence-peer`, as DRBD reads those of its
// handler. There are no others: 5 and 7 would let a copy go on that nobody
// granted it.
const (
	Granted = 4 // committed: the peer counts as outdated
	Outdate = 6 // the other side holds the grant: this Secondary is outdated
	Refused = 1 // leave things as they are
)

// A Question is whether a replica may go on without its peer.
type Question struct {
	Number     uint64 // in this life of the agent
	Volume     string
	ReplicaUID string
	Resource   string
	Primary    bool // it is Primary now
}

// An Answer is what the coordinators say.
type Answer struct {
	Number  uint64 // of the question
	Granted bool
	Holder  string // node whose copy goes on alone; "": none
	Round   int64  // of the grant
	Reason  string // why it is not granted
}

// Config is what an Arbiter works with.
type Config struct {
	Log *slog.Logger
	// Resource is the order for a resource, and what is seen of it.
	Resource func(name string) (want decide.Resource, seen drbd.Resource, known bool)
	// Frozen names the resources whose I/O waits for an answer.
	Frozen func() []string
	// Asked is called when there is something new to ask.
	Asked func()
	// Resume lets frozen I/O go on under a grant.
	Resume func(ctx context.Context, resource string, round int64) error
}

// An Arbiter asks, and remembers what is open.
type Arbiter struct {
	Config
	poke chan struct{}

	mu     sync.Mutex
	number uint64
	open   map[uint64]*asked
	busy   map[string]int    // handlers that wait, by resource
	why    map[string]string // what was last said of a frozen resource
}

type asked struct {
	Question
	answer chan Answer // takes one
}

// New makes an Arbiter.
func New(c Config) *Arbiter {
	return &Arbiter{Config: c, poke: make(chan struct{}, 1), open: map[uint64]*asked{}, busy: map[string]int{}, why: map[string]string{}}
}

// Questions are those without an answer, oldest first.
func (a *Arbiter) Questions() []Question {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []Question
	for _, n := range slices.Sorted(maps.Keys(a.open)) {
		list = append(list, a.open[n].Question)
	}
	return list
}

// Answered takes an answer. One to a question that is not open is dropped.
func (a *Arbiter) Answered(n Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q, ok := a.open[n.Number]; ok {
		delete(a.open, n.Number)
		q.answer <- n
	}
}

var errUnknown = errors.New("it is not a volume of this node's order that has two copies")

// Ask asks once, and waits for the answer until ctx ends.
func (a *Arbiter) Ask(ctx context.Context, resource string) (Answer, error) {
	want, seen, known := a.Resource(resource)
	if !known || !want.Arbitrated() {
		return Answer{}, fmt.Errorf("ask whether %s may go on alone: %w", resource, errUnknown)
	}
	a.mu.Lock()
	a.number++
	q := &asked{answer: make(chan Answer, 1), Question: Question{
		Number: a.number, Volume: want.Volume, ReplicaUID: want.ReplicaUID, Resource: resource, Primary: seen.Role == drbd.Primary,
	}}
	a.open[q.Number] = q
	a.mu.Unlock()
	a.Asked()
	select {
	case n := <-q.answer:
		return n, nil
	case <-ctx.Done():
		a.mu.Lock()
		delete(a.open, q.Number)
		a.mu.Unlock()
		return Answer{}, fmt.Errorf("ask whether %s may go on alone: no coordinator has answered: %w", resource, context.Cause(ctx))
	}
}

// patience is how long the kernel's handler waits. A Primary stays frozen
// after it and is asked for again; a Secondary's promotion fails.
const patience = 10 * time.Second

// Handle answers the kernel's handler for a resource: the exit code.
func (a *Arbiter) Handle(ctx context.Context, resource string) int {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a.handling(resource, 1)
	defer a.handling(resource, -1)
	_, seen, _ := a.Resource(resource)
	n, err := a.Ask(ctx, resource)
	code := Refused
	switch {
	case err != nil:
		n.Reason = err.Error()
	case n.Granted:
		code = Granted
	case n.Holder != "" && seen.Role == drbd.Secondary:
		code = Outdate
	}
	a.note(resource, n)
	a.Log.InfoContext(ctx, "the kernel asked whether it may go on without its peer",
		"resource", resource, "code", code, "reason", n.Reason)
	return code
}

// handling counts the handlers that wait; when one ended, frozen I/O is for
// Run to look after.
func (a *Arbiter) handling(resource string, by int) {
	a.mu.Lock()
	a.busy[resource] += by
	a.mu.Unlock()
	if by < 0 {
		a.Poke()
	}
}

func (a *Arbiter) note(resource string, n Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.why[resource] = n.Reason; n.Granted {
		delete(a.why, resource)
	}
}

// Why is what was last said of a resource whose I/O is frozen.
func (a *Arbiter) Why(resource string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if why := a.why[resource]; why != "" {
		return why
	}
	return "no coordinator has answered yet"
}

// Poke says that a resource may have been frozen.
func (a *Arbiter) Poke() {
	select {
	case a.poke <- struct{}{}:
	default:
	}
}

// again is how often it is asked for I/O that stays frozen.
const again = 3 * time.Second

// Run asks for frozen I/O until it goes on or ctx ends.
func (a *Arbiter) Run(ctx context.Context) error {
	tick := time.NewTicker(again)
	defer tick.Stop()
	var workers sync.WaitGroup
	defer workers.Wait()
	for {
		for _, name := range a.Frozen() {
			if a.take(name) {
				workers.Go(func() {
					defer a.handling(name, -1)
					a.thaw(ctx, name)
				})
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-a.poke:
		}
	}
}

// take begins the work on a frozen resource that nobody works on.
func (a *Arbiter) take(resource string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy[resource] > 0 {
		return false
	}
	a.busy[resource]++
	return true
}

// thaw asks for a resource, and lets its I/O go on when it is granted.
func (a *Arbiter) thaw(ctx context.Context, resource string) {
	call, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n, err := a.Ask(call, resource)
	if err != nil {
		n.Reason = err.Error()
	}
	a.note(resource, n)
	if !n.Granted {
		rest(ctx)
		return
	}
	err = a.Resume(ctx, resource, n.Round)
	a.Log.InfoContext(ctx, "frozen I/O may go on without the peer", "resource", resource, "err", err)
	if err != nil {
		rest(ctx)
	}
}

// rest keeps a refused resource from being asked for at once.
func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(again):
	}
}
