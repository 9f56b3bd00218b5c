package state_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"testing"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// FuzzApply feeds any bytes to two stores: they must agree, whatever it is.
func FuzzApply(f *testing.F) {
	for _, e := range busy(f).entries {
		f.Add(e.data)
	}
	f.Add([]byte("\x02\x00\x00\x00"))
	strange := state.Txn{
		Cause: "\xff", Put: []state.Put{{Key: model.Key{Kind: model.KindReplica, Name: "a/0"}, Value: []byte(`{"name":"a/0","volume":"a","node":"n"}`)}},
		Expect: map[model.Key]uint64{{Kind: model.KindNode, Name: "x"}: 1}, Delete: []model.Key{{}, {Kind: "x", Name: "\x00"}},
	}
	f.Add(encode(f, start, strange))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := busy(t).store, busy(t).store
		_, errA := a.Apply(50, data)
		_, errB := b.Apply(50, data)
		if (errA == nil) != (errB == nil) || a.Hash() != b.Hash() {
			t.Fatalf("two stores made different things of it: %v, %v", errA, errB)
		}
		if errA != nil {
			return
		}
		if err := b.Restore(bytes.NewReader(snapshotOf(t, a))); err != nil || a.Hash() != b.Hash() {
			t.Fatalf("its snapshot does not give it back: %v", err)
		}
	})
}

// FuzzRestore feeds any bytes to the snapshot reader, as they are and with the checksum
// that they should have. What it takes must be a state that it would write the same way.
func FuzzRestore(f *testing.F) {
	f.Add(snapshotOf(f, busy(f).store))
	f.Add(snapshotOf(f, newLog(f).store))
	whole := snapshotOf(f, busy(f).store)
	f.Add(whole[:len(whole)-2-sha256.Size])
	f.Add([]byte("rvol-state\nh\x02{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := sha256.Sum256(data)
		for _, data := range [][]byte{data, slices.Concat(data, []byte{'z', byte(len(sum))}, sum[:])} {
			s := state.NewStore(state.Options{})
			if s.Restore(bytes.NewReader(data)) != nil {
				continue
			}
			again := state.NewStore(state.Options{})
			if err := again.Restore(bytes.NewReader(snapshotOf(t, s))); err != nil || again.Hash() != s.Hash() {
				t.Fatalf("what was read does not survive being written: %v", err)
			}
		}
	})
}
