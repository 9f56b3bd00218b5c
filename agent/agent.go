package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"rvol/agent/act"
	"rvol/agent/decide"
	"rvol/agent/fence"
	"rvol/agent/host"
	"rvol/agent/metrics"
	"rvol/agent/observe"
	"rvol/agent/session"
	"rvol/agent/storage"
	"rvol/drbd"
	"rvol/lvm"
)

// Config is the machine as the agent sees it, and who it is.
type Config struct {
	Log     *slog.Logger
	Node    string // name in the cluster
	Version string // of the agent
	// Root is where /etc, /dev and /proc are: "/" on a real machine.
	Root string
	// State is the folder of the journal.
	State string
	// Machine names the machine and this boot of it.
	Machine host.Machine
	// Run and Follow run the tools; Find says why one is not there.
	Run    func(ctx context.Context, argv ...string) ([]byte, error)
	Follow drbd.Follower
	Find   func(tool string) error
	// Stuck lists tools that do not end, for people. Nil: none ever.
	Stuck func() []string
	// Locks knows what tools an earlier life of the agent left running. Nil: none.
	Locks *storage.Locks
	// Addresses are the replication addresses.
	Addresses Addresses
	// Dial connects to a coordinator.
	Dial func(ctx context.Context, addr string) (grpc.ClientConnInterface, error)
	// Coordinators are the API addresses known from joining.
	Coordinators []string
	// Notify tells the service manager. Nil: there is none.
	Notify Notifier
	// Tasks run beside the agent, and end it when they fail.
	Tasks []func(context.Context) error
	// Fence is given what answers DRBD's handler; nil: it comes by a socket.
	Fence func(handle func(ctx context.Context, resource string) int)
	// Metrics is where monitoring is answered, over plain HTTP; nil: nowhere.
	Metrics net.Listener
	// Health is the agent's own door, for the coordinators.
	Health Health
	// Expiry says when the certificate and the CA lapse. Nil: nobody knows.
	Expiry func() (certificate, ca time.Time)
	// Hook is called after every step and every write of the journal; an
	// error ends Run at that point as a crash would. For tests.
	Hook func(point string) error
}

// A Notifier is the service manager.
type Notifier interface {
	Ready(status string) error
	Status(text string) error
	Stopping() error
	// Watchdog feeds the watchdog while alive returns, until ctx ends.
	Watchdog(ctx context.Context, alive func() bool) error
}

// Agent is the parts of a running agent.
type agent struct {
	Config
	journal *act.Journal
	lvm     *observe.LVM
	drbd    *observe.DRBD
	engine  *act.Engine
	arbiter *fence.Arbiter
	session *session.Session
	metrics *metrics.Metrics
	health  *healthDoor
	ready   chan struct{} // closed when the first report may be made
	looked  chan struct{} // closed when everything was observed once
	once    sync.Once

	mu     sync.Mutex
	groups observe.LVMView // as passed on last
}

// Run is the agent, until ctx ends.
func Run(ctx context.Context, c Config) error {
	if err := checkAlone(c.Root); err != nil {
		return err
	}
	a := &agent{Config: c, metrics: metrics.New(c.Version), health: &healthDoor{Health: c.Health}, ready: make(chan struct{}), looked: make(chan struct{})}
	if err := a.build(); err != nil {
		return err
	}
	health := a.openHealth(ctx)
	tasks, ctx := errgroup.WithContext(ctx)
	for _, task := range append([]func(context.Context) error{
		a.lvm.Run, a.drbd.Run, a.engine.Run, a.session.Run, a.arbiter.Run, a.answerHandlers, a.start, a.status, a.watchdog, a.probe, health,
		func(ctx context.Context) error {
			return a.Addresses.Watch(ctx, func() { a.health.look(); a.session.Changed() })
		},
	}, c.Tasks...) {
		tasks.Go(func() error { return task(ctx) })
	}
	err := tasks.Wait()
	return errors.Join(err, a.notify(Notifier.Stopping))
}

func (a *agent) build() error {
	var err error
	if a.Locks == nil {
		a.Locks = storage.NewLocks()
	}
	if a.journal, err = act.OpenJournal(a.State, a.Hook); err != nil {
		return err
	}
	run := limited(a.metrics.Runner(a.Run))
	tool := lvm.New(run)
	a.lvm = observe.NewLVM(tool, a.Locks, a.Root, a.lookedAtLVM)
	a.drbd = observe.NewDRBD(run, a.Follow, a.Root, a.Log, a.changed)
	a.arbiter = a.newArbiter()
	a.engine = act.NewEngine(act.Config{
		Log: a.Log, Root: a.Root, Journal: a.journal, LVM: a.lvm, DRBD: a.drbd, Tool: tool, Locks: a.Locks,
		Changed: func() { a.session.Changed() }, Doing: func() { a.session.Progress() }, MayServeAlone: a.mayServeAlone, Hook: a.Hook,
	})
	a.session = session.New(session.Config{
		Log: a.Log, Dial: a.Dial, Coordinators: a.coordinators, Hello: a.hello, Report: a.report, Ready: a.ready,
		Accept: a.accept, Results: a.journal.Results, Acked: a.journal.Acked,
		Questions: a.arbiter.Questions, Answered: a.arbiter.Answered, Collect: a.collector(run).Collect,
	})
	a.metrics.Read(a.Node, a.facts)
	return nil
}

// processes bounds how many tools run at once. One that hangs keeps its place
// until it is given up as stuck.
const processes = 24

func limited(run func(context.Context, ...string) ([]byte, error)) func(context.Context, ...string) ([]byte, error) {
	places := make(chan struct{}, processes)
	return func(ctx context.Context, argv ...string) ([]byte, error) {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		defer func() { <-places }()
		return run(ctx, argv...)
	}
}

// lookedAtLVM passes on what was found. What was given up has its turn only when something is other than before.
func (a *agent) lookedAtLVM() {
	now := a.lvm.View()
	a.mu.Lock()
	same := reflect.DeepEqual(a.groups, now)
	a.groups = now
	a.mu.Unlock()
	if same {
		a.passOn(a.engine.PokeHopeful)
		return
	}
	a.passOn(func() { a.engine.Poke() })
}

// changed passes on that something was observed of DRBD.
func (a *agent) changed(resources ...string) {
	a.passOn(func() { a.engine.Poke(resources...) })
}

func (a *agent) passOn(poke func()) {
	if a.lvm.View().Seen && a.drbd.ViewOf("").Seen {
		a.once.Do(func() { close(a.looked) })
	}
	poke()
	a.arbiter.Poke()
	a.session.Changed()
}

// firstLook is how long the first observation may take before the agent is
// ready without it.
const firstLook = 30 * time.Second

// start waits for the first observation, brings up what the journal's order
// names, and says that the agent is ready. It never waits for a coordinator.
func (a *agent) start(ctx context.Context) error {
	text := "observed"
	select {
	case <-ctx.Done():
		return nil
	case <-a.looked:
	case <-time.After(firstLook):
		text = "not observed yet: " + a.missing()
		a.Log.WarnContext(ctx, "first observation is not complete", "reason", text)
	}
	if d, ok := a.journal.Order(); ok {
		a.engine.Order(d, false)
	}
	close(a.ready)
	return a.notify(func(n Notifier) error { return n.Ready(text) })
}

// missing names the parts that were not observed.
func (a *agent) missing() string {
	switch l, d := a.lvm.View().Seen, a.drbd.ViewOf("").Seen; {
	case !l && !d:
		return "LVM, DRBD"
	case !l:
		return "LVM"
	}
	return "DRBD"
}

// accept puts an order in force that a coordinator sent.
func (a *agent) accept(d decide.Desired) error {
	err := a.journal.Accept(d)
	if crash, ok := errors.AsType[*act.CrashError](err); ok {
		return &session.FatalError{Err: crash}
	}
	if err != nil {
		return err
	}
	a.engine.Order(d, true)
	return nil
}

func (a *agent) coordinators() []string {
	d, _ := a.journal.Order()
	return append(append([]string{}, d.Coordinators...), a.Coordinators...)
}

func (a *agent) notify(tell func(Notifier) error) error {
	if a.Notify == nil {
		return nil
	}
	return tell(a.Notify)
}

// statusPeriod is how often the status line may change.
const statusPeriod = 5 * time.Second

// status keeps the line that `systemctl status` shows.
func (a *agent) status(ctx context.Context) error {
	tick := time.NewTicker(statusPeriod)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if text := a.statusText(); text != last {
			last = text
			if err := a.notify(func(n Notifier) error { return n.Status(text) }); err != nil {
				return err
			}
		}
	}
}

func (a *agent) statusText() string {
	states, _ := a.engine.States()
	failed, first := 0, ""
	for _, s := range states {
		if s.Error != "" {
			if failed++; first == "" {
				first = s.Volume + ": " + s.Error
			}
		}
	}
	text := fmt.Sprintf("%s; %d replicas", a.session.State(), len(states))
	if frozen := a.engine.Frozen(); len(frozen) > 0 {
		text += ", I/O of " + strings.Join(frozen, ", ") + " is frozen"
	}
	if failed > 0 {
		text += fmt.Sprintf(", %d cannot go on (%s)", failed, first)
	}
	return text
}

// watchdog is fed for as long as the parts' locks can be taken.
func (a *agent) watchdog(ctx context.Context) error {
	if a.Notify == nil {
		return nil
	}
	return a.Notify.Watchdog(ctx, func() bool { return a.statusText() != "" })
}

// StateFolder is where the agent keeps its journal and identity.
func StateFolder(root string) string { return filepath.Join(root, "var/lib/rvol/agent") }
