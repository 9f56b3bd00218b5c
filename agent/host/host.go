package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Config is what a Host needs; its zero value runs real tools as children.
type Config struct {
	Log *slog.Logger // nil: silent
	// Search lists the folders where tools are looked for; nil: the system's.
	Search []string
	// Changes launches the tools that change LVM; nil: as children.
	Changes Launcher
	// Deadlines overrides how long a class of commands may take.
	Deadlines map[Class]time.Duration
}

// A Host runs the tools of one machine.
type Host struct {
	log       *slog.Logger
	search    []string
	children  Launcher
	changes   Launcher
	deadlines map[Class]time.Duration

	reapers sync.WaitGroup
	mu      sync.Mutex
	stuck   map[Process]Stuck
}

// New returns a Host.
func New(c Config) *Host {
	h := &Host{
		log: c.Log, search: c.Search, children: Children{}, changes: c.Changes, deadlines: c.Deadlines,
		stuck: map[Process]Stuck{},
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if h.search == nil {
		h.search = []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"}
	}
	if h.changes == nil {
		h.changes = h.children
	}
	return h
}

// Run runs one tool to its end and returns its standard output, also beside an
// error: *ExitError when it refused, *MissingToolError when it is not installed,
// *StuckError when it did not end in time and could not or must not be killed.
func (h *Host) Run(ctx context.Context, argv ...string) ([]byte, error) {
	if len(argv) == 0 {
		return nil, errors.New("run a tool: no name given")
	}
	path, err := h.find(argv[0])
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	class := ClassOf(argv)
	ctx, cancel := context.WithTimeout(ctx, h.deadline(class))
	defer cancel()
	launcher := h.children
	if class == Change {
		launcher = h.changes
	}
	start := time.Now()
	p, err := launcher.Launch(ctx, Command{Path: path, Argv: argv})
	if err != nil {
		return nil, err
	}
	err = h.await(ctx, p, class)
	h.log.DebugContext(ctx, "ran a tool", "argv", argv, "took", time.Since(start), "err", err)
	if err != nil {
		return nil, err
	}
	r := p.Result()
	return r.Stdout, r.error(argv)
}

// await waits until p has ended, kills it when ctx ends first and its class
// allows, and otherwise leaves it to a reaper.
func (h *Host) await(ctx context.Context, p Process, class Class) error {
	select {
	case <-p.Done():
		return nil
	case <-ctx.Done():
	}
	if class != Change {
		p.Kill()
		select {
		case <-p.Done():
			return &DeadlineError{Argv: p.Argv(), Cause: context.Cause(ctx)}
		case <-time.After(killGrace):
		}
	}
	return h.leave(ctx, p, context.Cause(ctx))
}

// killGrace is how long a killed tool may take to vanish before it counts as
// stuck in the kernel.
const killGrace = 3 * time.Second

// leave hands p to a reaper that waits for it, however long it takes.
func (h *Host) leave(ctx context.Context, p Process, cause error) *StuckError {
	s := newStuck(p)
	h.mu.Lock()
	h.stuck[p] = s
	h.mu.Unlock()
	h.log.ErrorContext(ctx, "tool is stuck", "argv", s.Argv, "reason", s.String(), "cause", cause)
	h.reapers.Go(func() {
		<-p.Done()
		h.mu.Lock()
		delete(h.stuck, p)
		h.mu.Unlock()
		h.log.InfoContext(ctx, "stuck tool has ended", "argv", s.Argv, "took", time.Since(s.Since))
	})
	return &StuckError{Stuck: s, Cause: cause, done: p.Done()}
}

// Stuck lists the tools that did not end in time and still run, oldest first.
func (h *Host) Stuck() []Stuck {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []Stuck
	for p := range h.stuck {
		list = append(list, newStuck(p))
	}
	slices.SortFunc(list, func(a, b Stuck) int { return a.Since.Compare(b.Since) })
	return list
}

// Adopt takes over the tools that an earlier life of this agent left running,
// and returns an error for each, as Run would have.
func (h *Host) Adopt(ctx context.Context) ([]*StuckError, error) {
	left, err := h.changes.Left(ctx)
	if err != nil {
		return nil, err
	}
	var list []*StuckError
	for _, p := range left {
		list = append(list, h.leave(ctx, p, errLeft))
	}
	return list, nil
}

var errLeft = errors.New("left running by an earlier agent")

// Wait returns when no tool is stuck any more, or when ctx ends.
func (h *Host) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		h.reapers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
