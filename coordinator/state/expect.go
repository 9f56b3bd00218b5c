package state

import (
	"maps"
	"slices"

	"rvol/coordinator/model"
)

// expected lists the keys of Expect in their order.
func (t Txn) expected() []model.Key { return slices.SortedFunc(maps.Keys(t.Expect), compareKeys) }

// checkExpect refuses a transaction that was made from an older state, and names the first
// key that changed.
func (t *tables) checkExpect(txn Txn) *model.Refusal {
	var k *model.Key
	for expected, rev := range txn.Expect {
		if t.revision(expected) != rev && (k == nil || compareKeys(expected, *k) < 0) {
			k = &expected
		}
	}
	if k == nil {
		return nil
	}
	want, is := txn.Expect[*k], t.revision(*k)
	r := refuse(model.ConstraintExpect, *k, "changed since it was read: revision %d was expected, it is at %d", want, is)
	switch {
	case want == 0:
		r = refuse(model.ConstraintExpect, *k, "exists already")
	case is == 0:
		r = refuse(model.ConstraintExpect, *k, "is gone: revision %d was expected", want)
	}
	r.Asked, r.Available = int64(want), int64(is)
	return r
}

// revision is that of the object under k; 0: there is none.
func (t *tables) revision(k model.Key) uint64 {
	o, ok := t.get(k)
	if !ok {
		return 0
	}
	return o.Info().Revision
}
