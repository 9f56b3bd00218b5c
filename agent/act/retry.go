package act

import (
	"math/rand/v2"
	"time"

	"rvol/agent/decide"
)

// What was definitely refused is tried again from refusedFrom, doubling, to refusedTo, less
// up to a fifth; after refusals in a row it is given up until something changes.
const (
	refusedFrom = 5 * time.Second
	refusedTo   = 2 * time.Minute
	refusals    = 10
)

// definitely says that waiting will not cure what went wrong.
func definitely(p decide.Plan, failed *decide.Refusal) bool {
	if failed != nil {
		return failed.Definite
	}
	for _, s := range p.States {
		if s.Error != "" && s.Definite {
			return true
		}
	}
	return false
}

// refuse says when it is the turn of a key again that was definitely refused.
func (k *key) refuse() {
	wait := min(refusedTo, refusedFrom<<min(k.refusals, 10))
	k.after = time.Now().Add(wait - rand.N(wait/5+1))
	k.refusals++
	k.tries, k.rounds = 0, 0
	k.dirty = !k.failedForGood()
}

func (k *key) failedForGood() bool { return k.refusals >= refusals }
