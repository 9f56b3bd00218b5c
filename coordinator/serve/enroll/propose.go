package enroll

import (
	"context"
	"errors"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// races is how often a change made from what was read may be overtaken before it is told
// to the caller.
const races = 5

// Again proposes what make builds of the newest state, and does so once more when
// somebody else was faster. A nil transaction is none.
func Again(ctx context.Context, s *state.Store, p state.Proposer, make func(state.View) (*state.Build, error)) error {
	for try := 1; ; try++ {
		b, err := make(s.View())
		if err != nil || b == nil {
			return err
		}
		txn, err := b.Txn()
		if err != nil {
			return err
		}
		_, err = p.Propose(ctx, txn)
		if try < races && errors.Is(err, model.ErrConflict) {
			continue
		}
		return err
	}
}
