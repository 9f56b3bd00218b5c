package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

const (
	manyReplicas = 100_000
	memoryBudget = 2
	memoryRounds = 5
	// Encoding and decoding the same objects one by one is what a snapshot cannot do without.
	snapshotBudget = 1.5
)

// BenchmarkMemory prints the heap that a replica takes with all that belongs to it, as a
// multiple of the same structs in plain maps; and what it takes to write and read them all
// as a snapshot, as a multiple of encoding and decoding them one by one.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		plain := map[model.Key]model.Object{}
		maps := heapOf(func() {
			for i := range manyReplicas {
				for _, o := range replicaObjects(i) {
					plain[o.Key()] = o
				}
			}
		})
		store := state.NewStore(state.Options{})
		ours := heapOf(func() { load(b, store) })
		report("memory-per-replica", float64(ours)/float64(maps), memoryBudget)
		b.Logf("a replica with its reservation: %d bytes, in plain maps %d", ours/manyReplicas, maps/manyReplicas)
		snapshots(b, plain, store)
	}
}

// snapshots measures both sides in turns.
func snapshots(b *testing.B, plain map[model.Key]model.Object, store *state.Store) {
	b.Helper()
	var writes, restores []float64
	for range memoryRounds {
		encoding, decoding := oneByOne(b, plain)
		var snapshot bytes.Buffer
		runtime.GC()
		writing := timed(func() {
			if _, err := store.View().WriteTo(&snapshot); err != nil {
				b.Fatal(err)
			}
		})
		runtime.GC()
		reading := timed(func() {
			if err := state.NewStore(state.Options{}).Restore(&snapshot); err != nil {
				b.Fatal(err)
			}
		})
		writes, restores = append(writes, writing.Seconds()/encoding.Seconds()), append(restores, reading.Seconds()/decoding.Seconds())
		b.Logf("snapshot: written in %v (encoding alone %v), read in %v (decoding alone %v)", writing, encoding, reading, decoding)
	}
	report("snapshot-write", middle(writes), snapshotBudget)
	report("snapshot-restore", middle(restores), snapshotBudget)
}

func heapOf(make func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	make()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return after.HeapAlloc - before.HeapAlloc
}

// replicaObjects are one replica and its reservation.
func replicaObjects(i int) []model.Object {
	volume, id := fmt.Sprintf("db-%d", i/2), i%2
	node := fmt.Sprintf("n%d", i%1000)
	res := &model.Reservation{
		OwnerKind: model.OwnerReplica, Owner: model.ReplicaName(volume, id), VGName: "vg0",
		Pool: model.PoolID{Node: node, VG: "9CmFQx-aaaa-bbbb-cccc-dddd-eeee-ffffff"}, LV: model.LVName(volume, 0, id),
		Granted: 1 << 30, Observed: 1 << 30, State: model.Bound, LVUUID: fmt.Sprintf("lv%d-aaaa-bbbb-cccc-dddd-eeee-ffffff", i),
	}
	res.Name = fmt.Sprintf("xrn2g3kqvbz4ajt6ew%08d", i)
	r := &model.Replica{
		Volume: volume, ID: id, Type: model.Diskful, Node: node, VG: "vg0", Port: 17000 + i/1000,
		Devices:    []model.ReplicaDevice{{Minor: 10000 + i/1000, Reservation: res.Name}},
		Conditions: model.Conditions{{Type: "Scheduled", Status: model.True, Reason: "Scheduled", Message: "Replica scheduled successfully"}},
	}
	r.Name, r.UID = model.ReplicaName(volume, id), fmt.Sprintf("uid%d", i)
	return []model.Object{r, res}
}

// load applies all of them, and the pools that they are in.
func load(b *testing.B, store *state.Store) {
	b.Helper()
	index := uint64(0)
	apply := func(objs ...model.Object) {
		build := state.NewTxn("bench", "load")
		for _, o := range objs {
			build.PutAnyway(o)
		}
		txn, err := build.Txn()
		var data []byte
		if err == nil {
			data, err = state.EncodeTxn(txn)
		}
		if err != nil {
			b.Fatal(err)
		}
		index++
		results, err := store.Apply(index, state.EncodeEntry(time.Unix(0, 0), data))
		if err == nil {
			err = results[0].Err()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for i := range 1000 {
		c := &model.Capacity{
			Pool:   model.PoolID{Node: fmt.Sprintf("n%d", i), VG: "9CmFQx-aaaa-bbbb-cccc-dddd-eeee-ffffff"},
			VGName: "vg0", ExtentSize: 4 << 20, Extents: 1 << 40, Percent: 100,
		}
		c.Name = c.Pool.String()
		apply(c)
	}
	for i := range manyReplicas {
		apply(replicaObjects(i)...)
	}
}

// oneByOne encodes all objects, and decodes them again.
func oneByOne(b *testing.B, objs map[model.Key]model.Object) (encoding, decoding time.Duration) {
	b.Helper()
	encoded := make(map[model.Key][]byte, len(objs))
	runtime.GC()
	encoding = timed(func() {
		for k, o := range objs {
			text, err := json.Marshal(o)
			if err != nil {
				b.Fatal(err)
			}
			encoded[k] = text
		}
	})
	decoded := make([]model.Object, 0, len(objs))
	runtime.GC()
	decoding = timed(func() {
		for k, text := range encoded {
			o := model.New(k.Kind)
			if err := json.Unmarshal(text, o); err != nil {
				b.Fatal(err)
			}
			decoded = append(decoded, o)
		}
	})
	return encoding, decoding
}
