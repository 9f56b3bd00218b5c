package control

import (
	"context"
	"sync"
	"time"
)

// queue holds keys that want a turn. A key is in it at most once, and is never handed to
// two workers at a time: one that is added while being worked on comes again afterwards.
type queue struct {
	mu      sync.Mutex
	ready   []string
	waiting map[string]bool // in ready
	busy    map[string]bool // handed out; true: wanted again
	later   map[string]*time.Timer
	wake    chan struct{}
}

func newQueue() *queue {
	return &queue{
		waiting: map[string]bool{}, busy: map[string]bool{},
		later: map[string]*time.Timer{}, wake: make(chan struct{}, 1),
	}
}

// add gives key a turn as soon as possible.
func (q *queue) add(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addLocked(key)
}

func (q *queue) addLocked(key string) {
	if t := q.later[key]; t != nil {
		t.Stop()
		delete(q.later, key)
	}
	if _, busy := q.busy[key]; busy {
		q.busy[key] = true
		return
	}
	if q.waiting[key] {
		return
	}
	q.waiting[key] = true
	q.ready = append(q.ready, key)
	q.signal()
}

// addAfter gives key a turn after d, or sooner should it be added meanwhile.
func (q *queue) addAfter(key string, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[key] || q.busy[key] {
		return
	}
	if t := q.later[key]; t != nil {
		t.Stop()
	}
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.later[key] == timer {
			q.addLocked(key)
		}
	})
	q.later[key] = timer
}

// take hands out the next key; done must be called for it.
func (q *queue) take(ctx context.Context) (string, bool) {
	for {
		q.mu.Lock()
		if len(q.ready) > 0 {
			key := q.ready[0]
			q.ready = q.ready[1:]
			delete(q.waiting, key)
			q.busy[key] = false
			if len(q.ready) > 0 {
				q.signal() // for the next worker
			}
			q.mu.Unlock()
			return key, true
		}
		q.mu.Unlock()
		select {
		case <-q.wake:
		case <-ctx.Done():
			return "", false
		}
	}
}

// done ends the turn of key.
func (q *queue) done(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	again := q.busy[key]
	delete(q.busy, key)
	if again {
		q.addLocked(key)
	}
}

// depth says how many keys are ready, and how many will be later.
func (q *queue) depth() (ready, later int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ready), len(q.later)
}

// close stops all timers.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, t := range q.later {
		t.Stop()
		delete(q.later, key)
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
