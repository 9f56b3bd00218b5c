package state_test

import (
	"testing"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// start is when the first entry of every test was made.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// log applies transactions to a store, an entry each, and remembers the entries.
type log struct {
	t       testing.TB
	store   *state.Store
	index   uint64
	now     time.Time
	entries []entry
}

type entry struct {
	index uint64
	data  []byte
}

func newLog(tb testing.TB) *log {
	tb.Helper()
	return &log{t: tb, store: state.NewStore(state.Options{}), now: start}
}

// apply applies one entry of some transactions and returns the results.
func (l *log) apply(txns ...state.Txn) []state.Result {
	l.t.Helper()
	l.index++
	l.now = l.now.Add(time.Second)
	data := encode(l.t, l.now, txns...)
	l.entries = append(l.entries, entry{l.index, data})
	results, err := l.store.Apply(l.index, data)
	if err != nil {
		l.t.Fatal(err)
	}
	return results
}

// must applies transactions that are to be accepted.
func (l *log) must(txns ...state.Txn) {
	l.t.Helper()
	for _, r := range l.apply(txns...) {
		if err := r.Err(); err != nil {
			l.t.Fatal(err)
		}
	}
}

func encode(tb testing.TB, now time.Time, txns ...state.Txn) []byte {
	tb.Helper()
	var encoded [][]byte
	for _, txn := range txns {
		b, err := state.EncodeTxn(txn)
		if err != nil {
			tb.Fatal(err)
		}
		encoded = append(encoded, b)
	}
	return state.EncodeEntry(now, encoded...)
}

// put is a transaction that stores objects, whatever was there.
func put(tb testing.TB, objects ...model.Object) state.Txn {
	tb.Helper()
	b := state.NewTxn("admin/test", "put")
	for _, o := range objects {
		b.PutAnyway(o)
	}
	txn, err := b.Txn()
	if err != nil {
		tb.Fatal(err)
	}
	return txn
}

// remove is a transaction that deletes keys, whatever they hold.
func remove(objects ...model.Object) state.Txn {
	txn := state.Txn{Actor: "admin/test", Cause: "delete"}
	for _, o := range objects {
		txn.Delete = append(txn.Delete, o.Key())
	}
	return txn
}

func named(name string) model.Meta { return model.Meta{Name: name} }

func node(name string) *model.Node { return &model.Node{Meta: named(name)} }

func volume(name, class string) *model.Volume {
	return &model.Volume{Meta: named(name), Class: class, Devices: []model.VolumeDevice{{Size: gib}}, MaxAttachments: 1}
}

const gib = int64(1 << 30)

var vg0 = model.PoolID{Node: "n1", VG: "uuid-1"}

// capacity is the record of n1/vg0 with so many GiB.
func capacity(gibs int64) *model.Capacity {
	return &model.Capacity{Meta: named(vg0.String()), Pool: vg0, VGName: "vg0", ExtentSize: 4 << 20, Extents: gibs * 256, Percent: 100}
}

// reservation is so many GiB of n1/vg0.
func reservation(uid string, gibs int64) *model.Reservation {
	return &model.Reservation{
		Meta: named(uid), OwnerKind: model.OwnerReplica, Owner: "db-1/0",
		Pool: vg0, VGName: "vg0", Granted: gibs * gib, State: model.Reserved,
	}
}

func replica(volume string, id int, node string, devices ...model.ReplicaDevice) *model.Replica {
	return &model.Replica{
		Meta: named(model.ReplicaName(volume, id)), Volume: volume, ID: id,
		Type: model.Diskful, Node: node, Port: 17000 + id, Devices: devices,
	}
}
