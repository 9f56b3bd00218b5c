package act

import (
	"time"

	"rvol/agent/decide"
)

// key is one thing that is worked on by itself: a resource or an operation.
type key struct {
	dirty   bool
	ordered bool // the order changed since the last round began
	running bool
	tries   int // failures in a row
	// refusals are definite failures in a row; after some it is given up until
	// the order, or something on the machine, changes.
	refusals int
	rounds   int       // in a row that had something to do
	after    time.Time // not before
	plan     decide.Plan
	failed   *decide.Refusal // of the last step
	doing    string          // the step that runs
}

// Retries of one key wait from retryMin, doubling, to retryMax.
const (
	retryMin = 500 * time.Millisecond
	retryMax = 15 * time.Second
)

// settle says when it is the key's turn again.
func (k *key) settle(failed, again bool) {
	k.after = time.Time{}
	switch {
	case k.ordered:
		// What was found holds for the order before.
	case failed:
		k.after = time.Now().Add(min(retryMax, retryMin<<min(k.tries, 10)))
		k.tries++
		k.dirty = true
	case again:
		k.tries, k.dirty = 0, true
		if k.rounds++; k.rounds > manyRounds {
			k.after = time.Now().Add(retryMin)
		}
	default:
		k.tries, k.rounds = 0, 0
	}
}

// manyRounds in a row mean that steps succeed and change nothing.
const manyRounds = 20
