package limit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
)

// Config is how much is served. The zero value is what a coordinator uses.
type Config struct {
	Rate    int // calls a second that one client may make for long; 500
	Burst   int // calls that it may make at once; twice the rate
	Running int // calls of all clients that are carried out at a time; 64
	Waiting int // calls of one client that wait for a place; 128
	Streams int // that one client has open; 256
}

// Defaults are the limits of a coordinator that was not told others.
func Defaults() Config { return Config{}.withDefaults() }

func (c Config) withDefaults() Config {
	c.Rate = cmp.Or(c.Rate, 500)
	return Config{
		Rate: c.Rate, Burst: cmp.Or(c.Burst, 2*c.Rate), Running: cmp.Or(c.Running, 64), Waiting: cmp.Or(c.Waiting, 128), Streams: cmp.Or(c.Streams, 256),
	}
}

// Limiter lets calls in.
type Limiter struct {
	Config

	mu      sync.Mutex
	clients map[string]*client
	ring    []*client // those that wait, in the order of their turns
	running int
}

// client is one identity.
type client struct {
	tokens  float64
	at      time.Time       // when there were so many
	waiting []chan struct{} // closed when it is their turn
	streams int
}

// New makes a Limiter.
func New(c Config) *Limiter {
	return &Limiter{Config: c.withDefaults(), clients: map[string]*client{}}
}

// Enter waits for a place for a call of who, and returns how to give it back. It fails at
// once, with when to come again, when who has made too many calls.
func (l *Limiter) Enter(ctx context.Context, who string) (leave func(), err error) {
	l.mu.Lock()
	c := l.client(who)
	if err := l.take(c); err != nil {
		l.mu.Unlock()
		return nil, err
	}
	if l.running < l.Running {
		l.running++
		l.mu.Unlock()
		return l.leave, nil
	}
	if len(c.waiting) >= l.Waiting {
		l.mu.Unlock()
		return nil, overloaded(time.Second, fmt.Sprintf("%d calls of yours wait for their turn already", l.Waiting))
	}
	turn := make(chan struct{})
	if c.waiting = append(c.waiting, turn); len(c.waiting) == 1 {
		l.ring = append(l.ring, c)
	}
	l.mu.Unlock()
	select {
	case <-turn:
		return l.leave, nil
	case <-ctx.Done():
		l.giveUp(c, turn)
		return nil, ctx.Err()
	}
}

// Open lets a stream of who begin, and returns what to call at its end.
func (l *Limiter) Open(who string) (closed func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.client(who)
	if err := l.take(c); err != nil {
		return nil, err
	}
	if c.streams >= l.Streams {
		return nil, overloaded(time.Second, fmt.Sprintf("%d streams of yours are open already", l.Streams))
	}
	c.streams++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		c.streams--
	}, nil
}

// many is how many clients are remembered before those with nothing to remember are forgotten.
const many = 1024

func (l *Limiter) client(who string) *client {
	if c, ok := l.clients[who]; ok {
		return c
	}
	if len(l.clients) >= many {
		for name, c := range l.clients {
			if l.fill(c); c.tokens >= float64(l.Burst) && c.streams == 0 && len(c.waiting) == 0 {
				delete(l.clients, name)
			}
		}
	}
	c := &client{tokens: float64(l.Burst), at: time.Now()}
	l.clients[who] = c
	return c
}

func (l *Limiter) fill(c *client) {
	now := time.Now()
	c.tokens = min(float64(l.Burst), c.tokens+float64(l.Rate)*now.Sub(c.at).Seconds())
	c.at = now
}

// take takes a call out of the client's bucket.
func (l *Limiter) take(c *client) error {
	l.fill(c)
	if c.tokens < 1 {
		after := time.Duration((1 - c.tokens) / float64(l.Rate) * float64(time.Second))
		return overloaded(max(after, time.Millisecond), fmt.Sprintf("more than %d calls a second", l.Rate))
	}
	c.tokens--
	return nil
}

// leave gives a place to whoever's turn it is.
func (l *Limiter) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) == 0 {
		l.running--
		return
	}
	next := l.ring[0]
	l.ring = l.ring[1:]
	close(next.waiting[0])
	if next.waiting = next.waiting[1:]; len(next.waiting) > 0 {
		l.ring = append(l.ring, next)
	}
}

// giveUp takes a call out of its queue, or gives back the place that it got meanwhile.
func (l *Limiter) giveUp(c *client, turn chan struct{}) {
	l.mu.Lock()
	i := slices.Index(c.waiting, turn)
	if i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
		if len(c.waiting) == 0 {
			l.ring = slices.DeleteFunc(l.ring, func(o *client) bool { return o == c })
		}
	}
	l.mu.Unlock()
	if i < 0 {
		l.leave()
	}
}

func overloaded(after time.Duration, why string) error {
	return &door.Refused{
		Kind: model.ErrOverloaded, Reason: "too much at once: " + why,
		Next: fmt.Sprintf("try again after %s", after.Round(time.Millisecond)), RetryAfter: after,
	}
}
