package session_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"rvol/agent/collect"
	"rvol/agent/decide"
	"rvol/agent/fence"
	"rvol/agent/session"
	agentv1 "rvol/proto/agent/v1"
)

// coordinator answers agents as a test wants.
type coordinator struct {
	agentv1.UnimplementedAgentsServer
	name     string
	listener *bufconn.Listener
	server   *grpc.Server

	mu        sync.Mutex
	leader    string // whom it names; itself: it leads
	others    []string
	silent    bool // it takes the hello and says nothing
	sessions  int
	heard     []*agentv1.FromAgent
	send      chan *agentv1.ToAgent // nil: the session breaks
	ackResult bool
	mute      bool // it answers heartbeats no more
}

func newCoordinator(name, leader string) *coordinator {
	c := &coordinator{name: name, leader: leader, listener: bufconn.Listen(1 << 20), server: grpc.NewServer(), send: make(chan *agentv1.ToAgent), ackResult: true}
	agentv1.RegisterAgentsServer(c.server, c)
	return c
}

func (c *coordinator) Session(s grpc.BidiStreamingServer[agentv1.FromAgent, agentv1.ToAgent]) error {
	c.mu.Lock()
	c.sessions++
	leader, others, silent := c.leader, c.others, c.silent
	c.mu.Unlock()
	if silent {
		<-s.Context().Done()
		return nil
	}
	hello, err := s.Recv()
	if err != nil {
		return err
	}
	c.note(hello)
	if leader != c.name {
		return s.Send(&agentv1.ToAgent{Message: &agentv1.ToAgent_NotLeader{NotLeader: &agentv1.NotLeader{Leader: leader, Coordinators: others}}})
	}
	if err := s.Send(&agentv1.ToAgent{Message: &agentv1.ToAgent_Welcome{Welcome: &agentv1.Welcome{Leader: c.name, HeartbeatSeconds: 5}}}); err != nil {
		return err
	}
	in := make(chan *agentv1.FromAgent)
	go func() {
		defer close(in)
		for {
			m, err := s.Recv()
			if err != nil {
				return
			}
			in <- m
		}
	}()
	for {
		select {
		case m, ok := <-in:
			if !ok {
				return nil
			}
			c.note(m)
			if m.GetHeartbeat() != nil && !c.isMute() {
				if err := s.Send(&agentv1.ToAgent{Message: &agentv1.ToAgent_Heartbeat{Heartbeat: &agentv1.Heartbeat{}}}); err != nil {
					return err
				}
			}
			if r := m.GetResult(); r != nil && c.acks() {
				if err := s.Send(&agentv1.ToAgent{Message: &agentv1.ToAgent_ResultAck{ResultAck: &agentv1.ResultAck{Id: r.Id}}}); err != nil {
					return err
				}
			}
		case m := <-c.send:
			if m == nil {
				return errDown
			}
			if err := s.Send(m); err != nil {
				return err
			}
			if m.GetNotLeader() != nil {
				for range in { // until the agent has gone
				}
				return nil
			}
		}
	}
}

func (c *coordinator) acks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ackResult
}

func (c *coordinator) isMute() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mute
}

func (c *coordinator) note(m *agentv1.FromAgent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, m)
}

// take gives what was heard so far, and forgets it.
func (c *coordinator) take() []*agentv1.FromAgent {
	c.mu.Lock()
	defer c.mu.Unlock()
	heard := c.heard
	c.heard = nil
	return heard
}

func (c *coordinator) reports() []*agentv1.Report {
	var list []*agentv1.Report
	for _, m := range c.take() {
		if r := m.GetReport(); r != nil {
			list = append(list, r)
		}
	}
	return list
}

func (c *coordinator) order(incarnation, index uint64) {
	c.send <- &agentv1.ToAgent{Message: &agentv1.ToAgent_Desired{Desired: &agentv1.Desired{Order: &agentv1.Order{Incarnation: incarnation, Index: index}}}}
}

// agent is the other parts of an agent, as the session sees them.
type agent struct {
	mu       sync.Mutex
	report   decide.Report
	results  []decide.Result
	accepted []decide.Desired

	collected []collect.File // nil: collecting hangs

	questions []fence.Question
	answers   []fence.Answer
	refuse    error
	ready     chan struct{}
	known     []string
	session   *session.Session
}

func (a *agent) set(change func(*agent)) {
	a.mu.Lock()
	change(a)
	a.mu.Unlock()
	a.session.Changed()
}

func (a *agent) orders() []decide.Desired {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.accepted)
}

func (a *agent) collect(ctx context.Context, _ int64, out func(collect.File) error) error {
	a.mu.Lock()
	files := a.collected
	a.mu.Unlock()
	if files == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	for _, f := range files {
		if err := out(f); err != nil {
			return err
		}
	}
	return nil
}

var errDown = errors.New("connection refused")

// start runs a session with the coordinators, in a bubble.
func start(t *testing.T, known []string, coordinators ...*coordinator) *agent {
	t.Helper()
	a := &agent{ready: make(chan struct{}), known: known}
	close(a.ready)
	a.run(t, coordinators...)
	return a
}

// startBlind runs a session of an agent that never observed anything.
func startBlind(t *testing.T, known []string, coordinators ...*coordinator) {
	t.Helper()
	a := &agent{ready: make(chan struct{}), known: known}
	a.run(t, coordinators...)
}

func (a *agent) run(t *testing.T, coordinators ...*coordinator) {
	t.Helper()
	byName := map[string]*coordinator{}
	var ends sync.WaitGroup
	for _, c := range coordinators {
		byName[c.name] = c
		ends.Go(func() { _ = c.server.Serve(c.listener) })
	}
	a.session = session.New(session.Config{
		Log: slog.New(slog.DiscardHandler),
		Dial: func(_ context.Context, addr string) (grpc.ClientConnInterface, error) {
			c, ok := byName[addr]
			if !ok {
				return nil, errDown
			}
			return grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.listener.DialContext(ctx) }))
		},
		Coordinators: func() []string { return a.known },
		Hello:        func() decide.Hello { return decide.Hello{Node: "n1"} },
		Report:       func() decide.Report { a.mu.Lock(); defer a.mu.Unlock(); return a.report },
		Ready:        a.ready,
		Accept: func(d decide.Desired) error {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.refuse != nil {
				return a.refuse
			}
			a.accepted = append(a.accepted, d)
			a.report.Accepted = d.Order
			return nil
		},
		Questions: func() []fence.Question { a.mu.Lock(); defer a.mu.Unlock(); return slices.Clone(a.questions) },
		Answered:  func(n fence.Answer) { a.mu.Lock(); defer a.mu.Unlock(); a.answers = append(a.answers, n) },
		Collect:   a.collect,
		Results:   func() []decide.Result { a.mu.Lock(); defer a.mu.Unlock(); return slices.Clone(a.results) },
		Acked: func(id string) error {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.results = slices.DeleteFunc(a.results, func(r decide.Result) bool { return r.ID == id })
			return nil
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ends.Go(func() {
		if err := a.session.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		for _, c := range coordinators {
			c.server.Stop()
		}
		ends.Wait()
	})
	synctest.Wait()
}
