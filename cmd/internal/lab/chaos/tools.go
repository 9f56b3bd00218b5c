package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"rvol/coordinator/consensus"
)

// How tools go wrong one call at a time.
const (
	toolSlow   = "tools are slow"
	toolFails  = "tools fail"
	toolLost   = "tools do their work, and fail"
	toolGarble = "tools print garbage"
)

// tools spoils calls of tools that agents make.
type tools struct {
	mu   sync.Mutex
	rnd  *rand.Rand
	how  map[string]string // by node; "": they are well
	hits map[string]int
}

func newTools(seed uint64) *tools {
	return &tools{rnd: rand.New(rand.NewPCG(seed, 3)), how: map[string]string{}, hits: map[string]int{}}
}

// spoil sets how the tools of a node go wrong, until the next word about it.
func (t *tools) spoil(node, how string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.how[node] = how
}

// taken is how many calls were spoilt so, and forgets them.
func (t *tools) taken(how string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.hits[how]
	delete(t.hits, how)
	return n
}

// pick decides about one call.
func (t *tools) pick(node string) (how string, slow time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	how = t.how[node]
	if how == "" || t.rnd.IntN(2) == 0 {
		return "", 0
	}
	t.hits[how]++
	if how == toolSlow {
		slow = time.Duration(t.rnd.Int64N(int64(15 * time.Second)))
	}
	return how, slow
}

func (t *tools) run(ctx context.Context, node string, argv []string, run func() ([]byte, error)) ([]byte, error) {
	how, slow := t.pick(node)
	switch how {
	case toolSlow:
		pause(ctx, slow)
	case toolFails:
		return nil, &toolError{argv, 5}
	case toolLost:
		if _, err := run(); err != nil {
			return nil, err
		}
		return nil, &toolError{argv, 5}
	case toolGarble:
		out, err := run()
		return append([]byte("\x00{{"), out[:len(out)/2]...), err
	}
	return run()
}

// toolError is how a tool ends that fails for no reason of its own.
type toolError struct {
	argv []string
	code int
}

func (e *toolError) Error() string {
	return fmt.Sprintf("%s: exit status %d", strings.Join(e.argv[:min(2, len(e.argv))], " "), e.code)
}
func (e *toolError) ExitCode() int  { return e.code }
func (e *toolError) Stderr() []byte { return []byte("chaos: the tool failed") }

// crash ends agents between two of their steps.
type crash struct {
	mu   sync.Mutex
	node string
	left int
	hit  bool
}

var errCrash = errors.New("the agent is killed here")

func (c *crash) hook(node, _ string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if node != c.node || c.left == 0 {
		return nil
	}
	if c.left--; c.left > 0 {
		return nil
	}
	c.hit = true
	return errCrash
}

// arm lets the agent of a node die after so many more steps; 0: it may live.
func (c *crash) arm(node string, steps int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.node, c.left, c.hit = node, steps, false
}

func (c *crash) happened() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hit
}

// space is the room under the coordinators' logs.
type space struct {
	mu   sync.Mutex
	full map[string]bool
	hits int
}

func (s *space) free(node string) (consensus.Space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := consensus.Space{Free: 50 << 30, Total: 100 << 30}
	if s.full[node] {
		s.hits++
		room.Free = 1 << 20
	}
	return room, nil
}

func (s *space) fill(node string, full bool) (hits int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full == nil {
		s.full = map[string]bool{}
	}
	s.full[node] = full
	hits = s.hits
	s.hits = 0
	return hits
}
