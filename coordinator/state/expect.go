package state

import (
	"maps"
	"slices"

	"rvol/coordinator/model"
)

// expected lists the keys of Expect in their order.
func (t Txn) expected() []model.Key { return slices.SortedFunc(maps.Keys(t.Expect), compareKeys) }

// checkExpect refuses a transaction that was made from an older state.
func (t *tables) checkExpect(txn Txn) *model.Refusal {
	for _, k := range txn.expected() {
		want, is := txn.Expect[k], uint64(0)
		if o, ok := t.get(k); ok {
			is = o.Info().Revision
		}
		if is == want {
			continue
		}
		r := refuse(model.ConstraintExpect, k, "changed since it was read: revision %d was expected, it is at %d", want, is)
		switch {
		case want == 0:
			r = refuse(model.ConstraintExpect, k, "exists already")
		case is == 0:
			r = refuse(model.ConstraintExpect, k, "is gone: revision %d was expected", want)
		}
		r.Asked, r.Available = int64(want), int64(is)
		return r
	}
	return nil
}
