package collect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	agentv1 "rvol/proto/agent/v1"
)

// The errors of Collect.
var (
	ErrNoSession = errors.New("its agent is not connected")
	ErrSilent    = errors.New("its agent did not answer in time; one older than this coordinator does not understand the question")
	ErrGone      = errors.New("its agent went away")
)

// File is one file that an agent sent.
type File struct {
	Name    string
	Data    []byte
	Missing string // why the file, or a part of it, is not there
}

// Broker joins those who want to know with the sessions of agents.
type Broker struct {
	mu       sync.Mutex
	number   uint64
	sessions map[string]*Session // the newest of each node
	waiting  map[uint64]*wait    // by number of the request
}

// NewBroker returns one without sessions.
func NewBroker() *Broker {
	return &Broker{sessions: map[string]*Session{}, waiting: map[uint64]*wait{}}
}

// Session is the side of an agent.
type Session struct {
	Requests <-chan *agentv1.CollectRequest

	broker   *Broker
	node     string
	requests chan *agentv1.CollectRequest
	gone     chan struct{}
}

// Join says that a node's agent may be asked. Close must follow.
func (b *Broker) Join(node string) *Session {
	s := &Session{broker: b, node: node, requests: make(chan *agentv1.CollectRequest), gone: make(chan struct{})}
	s.Requests = s.requests
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions[node] = s
	return s
}

// Close says that it has gone.
func (s *Session) Close() {
	close(s.gone)
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	if s.broker.sessions[s.node] == s {
		delete(s.broker.sessions, s.node)
	}
}

// Take hands a part over to whoever waits for it, if anybody does.
func (s *Session) Take(p *agentv1.CollectedPart) {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	if w := s.broker.waiting[p.GetNumber()]; w != nil && w.session == s {
		w.take(p)
	}
}

// wait is one request under way. The broker's lock guards it.
type wait struct {
	session *Session
	left    int64 // bytes that it may still send
	open    File  // not complete yet
	files   []File
	ended   bool
	done    chan struct{} // closed when there are no more
}

func (w *wait) take(p *agentv1.CollectedPart) {
	switch {
	case w.ended:
	case p.GetEnd():
		w.end()
	case int64(len(p.GetData())) > w.left:
		w.left = 0
		w.open.Name, w.open.Missing = p.GetFile(), "the agent sent more than it was asked for"
		w.end()
	default:
		w.left -= int64(len(p.GetData()))
		w.open.Name = p.GetFile()
		w.open.Data = append(w.open.Data, p.GetData()...)
		if p.GetFileEnd() {
			w.open.Missing = p.GetMissing()
			w.files, w.open = append(w.files, w.open), File{}
		}
	}
}

func (w *wait) end() {
	w.ended = true
	close(w.done)
}

// Ask says how long an agent may take, and how much it may send.
type Ask struct {
	Node  string
	Time  time.Duration
	Bytes int64
}

// grace is how much longer than its agent somebody waits: what is there at the end has to arrive.
const grace = 10 * time.Second

// Collect asks a node's agent, and returns the files that came, also beside an error.
func (b *Broker) Collect(ctx context.Context, a Ask) ([]File, error) {
	b.mu.Lock()
	s := b.sessions[a.Node]
	if s == nil {
		b.mu.Unlock()
		return nil, ErrNoSession
	}
	b.number++
	number, w := b.number, &wait{session: s, left: a.Bytes, done: make(chan struct{})}
	b.waiting[number] = w
	b.mu.Unlock()
	err := b.await(ctx, w, &agentv1.CollectRequest{Number: number, Seconds: int64(a.Time / time.Second), MaxBytes: a.Bytes})
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, number)
	if w.open.Name != "" {
		w.open.Missing = fmt.Sprintf("only its beginning came: %v", err)
		w.files = append(w.files, w.open)
	}
	return w.files, err
}

func (b *Broker) await(ctx context.Context, w *wait, r *agentv1.CollectRequest) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(r.GetSeconds())*time.Second+grace, ErrSilent)
	defer cancel()
	select {
	case w.session.requests <- r:
	case <-w.session.gone:
		return ErrGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-w.done:
		return nil
	case <-w.session.gone:
		return ErrGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
