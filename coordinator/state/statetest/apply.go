package statetest

import (
	"testing"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Apply applies a transaction as the next entry, and answers as a Proposer does. One call
// at a time.
func Apply(s *state.Store, now time.Time, t state.Txn) (revision uint64, err error) {
	b, err := state.EncodeTxn(t)
	if err != nil {
		return 0, err
	}
	results, err := s.Apply(s.View().Index()+1, state.EncodeEntry(now, b))
	if err != nil {
		return 0, err
	}
	return results[0].Revision, results[0].Err()
}

// Propose proposes a transaction that must be accepted.
func Propose(tb testing.TB, p state.Proposer, b *state.Build) {
	tb.Helper()
	txn, err := b.Txn()
	if err == nil {
		_, err = p.Propose(tb.Context(), txn)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Put stores objects, whatever was there.
func Put(tb testing.TB, p state.Proposer, objects ...model.Object) {
	tb.Helper()
	b := state.NewTxn("test", "given")
	for _, o := range objects {
		b.PutAnyway(o)
	}
	Propose(tb, p, b)
}
