package state_test

import (
	"fmt"
	"runtime"
	"testing"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// filled is a log of n volumes of two replicas with their reservations, on 100 nodes.
func filled(b *testing.B, n int) *log {
	b.Helper()
	l := newLog(b)
	for i := range 100 {
		p := model.PoolID{Node: fmt.Sprintf("n%d", i), VG: "uuid-1"}
		l.must(put(b, node(p.Node), &model.Capacity{Meta: named(p.String()), Pool: p, VGName: "vg0", ExtentSize: 4 << 20, Extents: 1 << 40, Percent: 100}))
	}
	for i := range n {
		l.must(placement(b, i))
	}
	return l
}

// placement is a volume with two replicas, as one transaction.
func placement(b *testing.B, i int) state.Txn {
	b.Helper()
	name := fmt.Sprintf("db-%d", i)
	objects := []model.Object{volume(name, "gold")}
	for id := range 2 {
		uid := fmt.Sprintf("%s-%d-0000-0000", name, id)
		on := fmt.Sprintf("n%d", (i+id)%100)
		r := reservation(uid, 1)
		r.Owner, r.Pool.Node = model.ReplicaName(name, id), on
		rep := replica(name, id, on, model.ReplicaDevice{Minor: 10000 + i, Reservation: uid})
		rep.Port = 17000 + i
		objects = append(objects, r, rep)
	}
	return put(b, objects...)
}

func BenchmarkApplyPlacement(b *testing.B) {
	l := filled(b, 10_000)
	i := 10_000
	var entries [][]byte
	for range 20_000 {
		entries = append(entries, encode(b, start, placement(b, i)))
		i++
	}
	n := 0
	for b.Loop() {
		if n == len(entries) {
			b.StopTimer()
			l, n = filled(b, 10_000), 0
			b.StartTimer()
		}
		l.index++
		if _, err := l.store.Apply(l.index, entries[n]); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

func BenchmarkApplyPlacementWithAViewEach(b *testing.B) {
	l := filled(b, 10_000)
	i := 10_000
	for b.Loop() {
		b.StopTimer()
		data := encode(b, start, placement(b, i))
		i++
		l.index++
		b.StartTimer()
		if _, err := l.store.Apply(l.index, data); err != nil {
			b.Fatal(err)
		}
		l.store.View()
	}
}

func BenchmarkMemoryPerReplica(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l := filled(b, 50_000)
		l.entries = nil
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/100_000, "B/replica")
		runtime.KeepAlive(l)
	}
}
