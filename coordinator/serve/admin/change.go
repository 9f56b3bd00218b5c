package admin

import (
	"context"
	"errors"
	"fmt"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
)

// races is how often a change made from what was read may be overtaken before the client
// hears of it.
const races = 5

// A change is what one call writes, made from the newest state: nil when that is so
// already, which is remembered too: repeated, the call must not change what somebody else
// did meanwhile. The build is in the caller's name.
type change func(v state.View, b *state.Build) (*state.Build, error)

// write proposes a change, and once more when somebody else was faster. A call that is
// repeated with its request id gets the first answer. part tells several changes of one
// call apart.
func (a *api) write(ctx context.Context, part string, make change) (uint64, error) {
	for try := 1; ; try++ {
		rev, err := a.try(ctx, fmt.Sprintf("%s/%d", part, try), make)
		if err == nil || try == races || !errors.Is(err, model.ErrConflict) {
			return rev, err
		}
	}
}

// try proposes a change under a request id of its own: a refusal stands for as long as
// its id is remembered.
func (a *api) try(ctx context.Context, part string, make change) (uint64, error) {
	c, v := door.From(ctx), a.Store.View()
	if c.RequestID != "" {
		c.RequestID += part
	}
	b := c.Txn("")
	if _, repeated := v.Request(c.RequestID); c.RequestID == "" || !repeated {
		var err error
		if b, err = make(v, b); err != nil {
			return 0, err
		}
		switch {
		case b == nil && c.RequestID == "":
			return v.Index(), nil
		case b == nil:
			b = c.Txn("it was so already")
		}
	}
	txn, err := b.Txn()
	if err != nil {
		return 0, err
	}
	return a.Proposer.Propose(ctx, txn)
}
