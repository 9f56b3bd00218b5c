package bench

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"rvol/coordinator/control"
	"rvol/coordinator/state"
)

// direct applies what it is asked to, without Raft.
type direct struct{ store *state.Store }

func (d direct) Propose(_ context.Context, t state.Txn) (uint64, error) {
	b, err := state.EncodeTxn(t)
	if err != nil {
		return 0, err
	}
	results, err := d.store.Apply(d.store.Index()+1, state.EncodeEntry(time.Unix(0, 0), b))
	if err != nil {
		return 0, err
	}
	return results[0].Revision, results[0].Err()
}

// BenchmarkPlacementSteps is the work of one placement without Raft and disk, 64 to an entry:
// to decide, to write down, and to apply.
func BenchmarkPlacementSteps(b *testing.B) {
	const volumes, together = 30_000, 64
	store := state.NewStore(state.Options{})
	fillNodes(b, direct{store})
	fillVolumes(b, direct{store}, 0, volumes)
	scheduler := control.NewScheduling()
	var decide, write, apply time.Duration
	next := 0
	for b.Loop() {
		if next+together > volumes {
			b.Fatal("no more volumes: ask for fewer rounds")
		}
		var txns [][]byte
		var done []func(error)
		for range together {
			begun := time.Now()
			out, err := scheduler.Decide(control.World{State: store.View(), Latest: store.View, Now: time.Now(), Fresh: rand.Text}, volumeName(next))
			next++
			decided := time.Now()
			if err != nil || out.Txn == nil {
				b.Fatal(err, out.Reason)
			}
			txn, err := out.Txn.Txn()
			if err != nil {
				b.Fatal(err)
			}
			text, err := state.EncodeTxn(txn)
			if err != nil {
				b.Fatal(err)
			}
			txns, done = append(txns, text), append(done, out.Done)
			decide, write = decide+decided.Sub(begun), write+time.Since(decided)
		}
		begun := time.Now()
		results, err := store.Apply(store.Index()+1, state.EncodeEntry(time.Now(), txns...))
		apply += time.Since(begun)
		if err != nil {
			b.Fatal(err)
		}
		for i, r := range results {
			if r.Err() != nil {
				b.Fatal(r.Err())
			}
			done[i](nil)
		}
	}
	b.ReportMetric(float64(decide.Nanoseconds())/float64(next), "ns/decide")
	b.ReportMetric(float64(write.Nanoseconds())/float64(next), "ns/write")
	b.ReportMetric(float64(apply.Nanoseconds())/float64(next), "ns/apply")
}
