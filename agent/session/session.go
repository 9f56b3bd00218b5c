package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"rvol/agent/collect"
	"rvol/agent/decide"
	"rvol/agent/fence"
	agentv1 "rvol/proto/agent/v1"
)

// Config is what a Session needs to know.
type Config struct {
	Log *slog.Logger
	// Dial connects to one coordinator. The connection is closed when it is
	// an io.Closer.
	Dial func(ctx context.Context, addr string) (grpc.ClientConnInterface, error)
	// Coordinators lists the API addresses known so far.
	Coordinators func() []string
	Hello        func() decide.Hello
	// Report is what the node holds now. Before Ready is closed it is not asked.
	Report func() decide.Report
	Ready  <-chan struct{}
	// Accept puts an order in force, or says why not; stale is an order that
	// is older than the newest accepted one.
	Accept  func(decide.Desired) error
	Results func() []decide.Result
	Acked   func(id string) error
	// Questions are those that wait for Answered. They are asked again in
	// every new conversation, and after a while in the same.
	Questions func() []fence.Question
	Answered  func(fence.Answer)
	// Collect gathers what helps to find out what is wrong, until ctx ends.
	Collect func(ctx context.Context, limit int64, out func(collect.File) error) error
}

// A Session keeps one stream to the leader.
type Session struct {
	Config
	changed  chan struct{}
	progress chan struct{}

	mu     sync.Mutex
	leader string   // where to try first
	silent string   // who broke off or did not answer last: where to try last
	hosted bool     // a leader took us in since Run asked
	known  []string // told by coordinators
	state  string
	open   bool // a leader took us in, and has not gone
}

// New makes a Session.
func New(c Config) *Session {
	return &Session{Config: c, changed: make(chan struct{}, 1), progress: make(chan struct{}, 1), state: "not connected yet"}
}

// Changed says that Report or Results have something new.
func (s *Session) Changed() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Progress says that Report has something that nobody acts on: it may wait.
func (s *Session) Progress() {
	select {
	case s.progress <- struct{}{}:
	default:
	}
}

// State tells people who is talked to.
func (s *Session) State() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Connected says that a leader is talked to.
func (s *Session) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

func (s *Session) setOpen(open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
}

func (s *Session) setState(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = fmt.Sprintf(format, args...)
}

// Pauses between rounds over all coordinators.
const (
	pauseMin = 250 * time.Millisecond
	pauseMax = 15 * time.Second
)

// Run talks to the leader until ctx ends or an order could not be written
// down because the agent must end.
func (s *Session) Run(ctx context.Context) error {
	pause := pauseMin
	for {
		err := s.round(ctx)
		if fatal, ok := errors.AsType[*FatalError](err); ok {
			return fatal.Err
		}
		if s.wasWelcome() {
			pause = pauseMin // there are leaders: the next one comes soon
		}
		s.setState("no coordinator: %v", err)
		wait := pause/2 + rand.N(pause)
		if ctx.Err() == nil {
			s.Log.WarnContext(ctx, "no session with the leader", "err", err, "again", wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		pause = min(2*pause, pauseMax)
	}
}

// A FatalError from Accept ends the Session.
type FatalError struct{ Err error }

// Error gives the reason.
func (e *FatalError) Error() string { return e.Err.Error() }

// round tries every coordinator once, the leader as far as it is known first,
// and whom each names as leader next.
func (s *Session) round(ctx context.Context) error {
	var errs []error
	tried := map[string]bool{}
	for {
		addr := s.next(tried)
		if addr == "" {
			break
		}
		tried[addr] = true
		err := s.talk(ctx, addr)
		if _, fatal := errors.AsType[*FatalError](err); fatal || ctx.Err() != nil {
			return err
		}
		errs = append(errs, fmt.Errorf("%s: %w", addr, err))
		if _, elsewhere := errors.AsType[*notLeader](err); !elsewhere {
			s.lost(addr)
		}
	}
	if len(errs) == 0 {
		return errors.New("no coordinator is known: join the node to a cluster first")
	}
	return errors.Join(errs...)
}

// next is the coordinator to try.
func (s *Session) next(tried map[string]bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Concat([]string{s.leader}, s.Coordinators(), s.known)
	i := slices.IndexFunc(all, func(addr string) bool { return addr != "" && addr != s.silent && !tried[addr] })
	switch {
	case i >= 0:
		return all[i]
	case slices.Contains(all, s.silent) && !tried[s.silent]:
		return s.silent
	}
	return ""
}

// lost notes that a coordinator, which may have led, does not answer.
func (s *Session) lost(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leader, s.silent = "", addr
}

func (s *Session) lead(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leader, s.silent, s.hosted = addr, "", true
}

// wasWelcome says whether a leader took us in since it was last asked.
func (s *Session) wasWelcome() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.hosted
	s.hosted = false
	return was
}

// notLeader is a coordinator that names another, or nobody.
type notLeader struct{ leader string }

func (e *notLeader) Error() string {
	if e.leader == "" {
		return "not the leader, and knows none"
	}
	return "not the leader; that is " + e.leader
}

// helloTime is how long a coordinator may take to answer the first message.
const helloTime = 10 * time.Second

// talk holds one stream until it breaks.
func (s *Session) talk(ctx context.Context, addr string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conn, err := s.Dial(ctx, addr)
	if err != nil {
		return err
	}
	if c, ok := conn.(interface{ Close() error }); ok {
		defer func() { _ = c.Close() }() // nothing is in flight any more
	}
	greeting := time.AfterFunc(helloTime, func() { cancel(errSilent) })
	defer greeting.Stop()
	stream, err := agentv1.NewAgentsClient(conn).Session(ctx)
	if err != nil {
		return causeOf(ctx, err)
	}
	if err := stream.Send(&agentv1.FromAgent{Message: &agentv1.FromAgent_Hello{Hello: helloOut(s.Hello())}}); err != nil {
		return causeOf(ctx, err)
	}
	first, err := stream.Recv()
	if err != nil {
		return causeOf(ctx, err)
	}
	greeting.Stop()
	switch m := first.Message.(type) {
	case *agentv1.ToAgent_NotLeader:
		s.learn(m.NotLeader)
		return &notLeader{m.NotLeader.Leader}
	case *agentv1.ToAgent_Welcome:
		s.lead(addr)
		s.setState("connected to %s", addr)
		s.setOpen(true)
		defer s.setOpen(false)
		s.Log.InfoContext(ctx, "session began", "addr", addr, "leader", m.Welcome.Leader)
		return s.converse(ctx, cancel, stream, beat(m.Welcome))
	}
	return fmt.Errorf("%w: first message is %T", errProtocol, first.Message)
}

var (
	errSilent   = errors.New("no answer to the hello")
	errMute     = errors.New("coordinator has said nothing")
	errProtocol = errors.New("coordinator does not speak as expected")
)

func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// beat is how often the agent says that it is alive.
func beat(w *agentv1.Welcome) time.Duration {
	if w.HeartbeatSeconds > 0 {
		return time.Duration(w.HeartbeatSeconds) * time.Second
	}
	return 5 * time.Second
}

// learn remembers who leads and who else there is.
func (s *Session) learn(n *agentv1.NotLeader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(n.Coordinators) > 0 {
		s.known = slices.Clone(n.Coordinators)
	}
	s.leader = n.Leader
}
