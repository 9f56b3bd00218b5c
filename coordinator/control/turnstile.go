package control

import "sync"

// A turnstile lets one thing be done at a time, in the order of arrival. Unlike a mutex it
// wakes nobody in between: who is at it does for others what they came for, so many at
// most, and hands over. With a mutex, waking the next costs more than what he does.
type turnstile struct {
	mu     sync.Mutex
	taken  bool
	behind []errand
}

// An errand is what somebody came for.
type errand struct {
	do   func()
	done chan bool // true: it was done; false: do it, and what is behind it; nil: nobody waits
}

const mostErrands = 64 // for others, before the turnstile is handed over

// pass returns when do was done.
func (t *turnstile) pass(do func()) {
	e := errand{do: do, done: make(chan bool, 1)}
	if t.queue(e) && <-e.done {
		return
	}
	t.work(e)
}

// leave has it done, now or by others soon.
func (t *turnstile) leave(do func()) {
	if e := (errand{do: do}); !t.queue(e) {
		t.work(e)
	}
}

// queue stands in line; false: there is none, and the turnstile is taken.
func (t *turnstile) queue(e errand) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken {
		t.behind = append(t.behind, e)
	}
	was := t.taken
	t.taken = true
	return was
}

// work does an errand and those behind it.
func (t *turnstile) work(e errand) {
	for n := 0; ; n++ {
		if n >= mostErrands && e.done != nil {
			e.done <- false
			return
		}
		e.do()
		if n > 0 && e.done != nil {
			e.done <- true
		}
		var ok bool
		if e, ok = t.next(); !ok {
			return
		}
	}
}

// next takes who is next; false: nobody is, and the turnstile is free.
func (t *turnstile) next() (errand, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.behind) == 0 {
		t.taken, t.behind = false, nil
		return errand{}, false
	}
	e := t.behind[0]
	t.behind = t.behind[1:]
	return e, true
}
