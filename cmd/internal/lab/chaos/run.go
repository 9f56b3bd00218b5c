package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"rvol/cmd/internal/lab/sim"
	"rvol/coordinator/decide/leftover"
	"rvol/drbd"
)

// Config is what one run is made of.
type Config struct {
	Seed     uint64
	Duration time.Duration // of cluster time in which things go wrong
	DRBD     drbd.Version
	Dir      string // the state of all nodes
	LogFile  string // what Log writes to: searched for secrets
	Log      *slog.Logger
	Say      func(format string, args ...any) // what happens, for people
}

// The shape of the cluster: coordinators on the first nodes.
const (
	nodes        = 6
	coordinators = 3
	groupSize    = 256 << 20 // bytes of each volume group
)

// run is one run.
type run struct {
	Config
	ctx    context.Context
	s      *sim.Scripted
	rnd    *rand.Rand // of the one goroutine that decides
	begun  time.Time
	client *client
	tools  *tools
	crash  *crash
	space  *space
	faults []*active // at present
	kinds  deck[kind]
	works  deck[work]
	truth  *truth
	lvs    map[string]ledger

	patience time.Duration // how long everything may take to come right

	tasks sync.WaitGroup // calls and writers

	mu      sync.Mutex
	volumes []*volume // in the order they were made
	made    int
	counts  counts
	wrong   []error
}

// Run plays one run in a bubble of fake time. It returns what was done, and what was wrong.
func Run(ctx context.Context, c Config) (table string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := begin(ctx, c)
	defer func() { err = errors.Join(err, r.close(cancel)) }()
	if err != nil {
		return "", err
	}
	r.play(ctx)
	if r.failed() == nil {
		r.end(ctx)
	}
	if r.failed() == nil {
		r.counts.complete(r.wrongf)
	}
	return r.counts.String(), r.failed()
}

// begin brings up a cluster with what volumes are made of. It is to be closed in any case.
func begin(ctx context.Context, c Config) (*run, error) {
	r := &run{
		Config: c, ctx: ctx, rnd: rand.New(rand.NewPCG(c.Seed, 0)), begun: time.Now(), tools: newTools(c.Seed), crash: &crash{}, space: &space{},
		counts: newCounts(), lvs: map[string]ledger{}, patience: comeRight,
	}
	cl, err := sim.New(sim.Config{
		Dir: c.Dir, Nodes: nodes, Coordinators: coordinators, DRBD: c.DRBD, GroupSize: groupSize, Version: "chaos", Log: c.Log,
		Leftovers: leftover.Limits{Period: time.Minute}, Hook: r.crash.hook, Tool: r.tools.run, Free: r.space.free,
	})
	if err != nil {
		return r, err
	}
	r.s = sim.NewScripted(cl)
	if err := cl.Start(ctx); err != nil {
		return r, err
	}
	if r.client, err = newClient(ctx, r); err != nil {
		return r, err
	}
	return r, r.prepare(ctx)
}

// close ends everything: first who asks and writes.
func (r *run) close(cancel context.CancelFunc) error {
	cancel()
	r.tasks.Wait()
	if r.client != nil {
		r.client.close()
	}
	if r.s == nil {
		return nil
	}
	return r.s.Close()
}

// prepare offers the storage, makes classes, and what is not rvol's.
func (r *run) prepare(ctx context.Context) error {
	for i := range nodes {
		node := fmt.Sprintf("n%d", i+1)
		for _, line := range []string{"lvg create " + node + " vg0 --wait", "lvg create " + node + " vg1 --thin-pool tp --wait"} {
			if err := r.rvol(ctx, line); err != nil {
				return err
			}
		}
	}
	for _, c := range r.classes() {
		if err := r.rvol(ctx, "class create "+c.name+" "+c.flags); err != nil {
			return err
		}
	}
	for _, k := range kinds {
		r.counts.expect(faultGroup, k.name)
	}
	r.kinds, r.works = newDeck(kinds), newDeck(r.possible())
	var err error
	r.truth, err = newTruth(r)
	return err
}

func (r *run) rvol(ctx context.Context, line string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	var out strings.Builder
	if code := r.s.Rvol(ctx, &out, &out, strings.Fields(line)); code != 0 {
		return fmt.Errorf("rvol %s: exit status %d: %s", line, code, out.String())
	}
	return nil
}

// The pace of a run.
const (
	mostFaults = 3
	stepMin    = 500 * time.Millisecond
	stepMax    = 5 * time.Second
)

// play lets things go wrong, and work be done, until the time is over or a promise is
// broken; somewhat longer where something was not met yet.
func (r *run) play(ctx context.Context) {
	r.begun = time.Now()
	for r.failed() == nil && (time.Since(r.begun) < r.Duration || r.counts.missing() && time.Since(r.begun) < 2*r.Duration) {
		time.Sleep(stepMin + time.Duration(r.rnd.Int64N(int64(stepMax-stepMin))))
		r.mendSome()
		if len(r.faults) < mostFaults && r.rnd.IntN(3) > 0 {
			r.spoil()
		}
		r.work(ctx)
		r.check(ctx)
	}
}

// check looks whether every promise holds now.
func (r *run) check(ctx context.Context) {
	r.counts.add("steps", "", 1)
	r.truth.look()
	r.look(ctx)
}

// wrongf notes a broken promise.
func (r *run) wrongf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wrong) > 20 {
		return
	}
	r.wrong = append(r.wrong, fmt.Errorf("after %s: "+format, append([]any{time.Since(r.begun).Round(time.Millisecond)}, args...)...))
}

func (r *run) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.wrong...)
}

func (r *run) say(format string, args ...any) {
	r.Say("%10s  "+format, append([]any{time.Since(r.begun).Round(time.Millisecond)}, args...)...)
}

// deck deals every card once before it deals one twice.
type deck[T any] struct{ all, left []T }

func newDeck[T any](all []T) deck[T] { return deck[T]{all: all} }

func (d *deck[T]) deal(rnd *rand.Rand) T {
	if len(d.left) == 0 {
		d.left = append(d.left, d.all...)
		rnd.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	card := d.left[0]
	d.left = d.left[1:]
	return card
}
