package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// room is how much the one pool of the test holds, in bytes.
const room = 100

// request is what a client asks of the ledger: that an owner has so much, or what all have.
type request struct {
	read  bool
	owner string
	bytes int64 // 0: the owner gives back what it has
}

// answer is what it got.
type answer struct {
	ok      bool
	unknown bool // nobody knows what became of it
	nothing bool // nothing did
	charged int64
	has     int64 // what the owner asked about has
}

// ledgerModel is the ledger, one request after the other.
var ledgerModel = porcupine.Model{
	Init:  func() any { return map[string]int64{} },
	Equal: func(a, b any) bool { return maps.Equal(a.(map[string]int64), b.(map[string]int64)) },
	Step: func(s, in, out any) (bool, any) {
		now, q, a := s.(map[string]int64), in.(request), out.(answer)
		sum := int64(0)
		for _, n := range now {
			sum += n
		}
		if q.read {
			return a.unknown || a.charged == sum && a.has == now[q.owner], now
		}
		fits := q.bytes <= now[q.owner] || sum-now[q.owner]+q.bytes <= room
		if !a.unknown && a.ok != fits {
			return false, now
		}
		if !fits {
			return true, now
		}
		next := maps.Clone(now)
		next[q.owner] = q.bytes
		if q.bytes == 0 {
			delete(next, q.owner)
		}
		return true, next
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

var onePool = model.PoolID{Node: "n1", VG: "vg"}

// carryOut asks a member. What a member cannot know happened or not is unknown.
func carryOut(ctx context.Context, m *member, q request) answer {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if q.read {
		v, err := m.ConsistentRead(ctx)
		if err != nil {
			return answer{nothing: true}
		}
		r, _ := state.Get[*model.Reservation](v, q.owner)
		a := answer{charged: v.Charged(onePool)}
		if r != nil {
			a.has = r.Granted
		}
		return a
	}
	r := &model.Reservation{Meta: model.Meta{Name: q.owner}, OwnerKind: model.OwnerHold, Owner: q.owner, Pool: onePool, Granted: q.bytes}
	b := state.NewTxn("test", "place, resize or release "+q.owner)
	if q.bytes == 0 {
		txn, _ := b.Txn()
		txn.Delete = []model.Key{r.Key()}
		return judged(m.Propose(ctx, txn))
	}
	txn, _ := b.PutAnyway(r).Txn()
	return judged(m.Propose(ctx, txn))
}

func judged(_ uint64, err error) answer {
	var refusal *model.Refusal
	switch {
	case err == nil:
		return answer{ok: true}
	case errors.As(err, &refusal):
		return answer{}
	case errors.As(err, new(*model.NotLeaderError)):
		return answer{nothing: true}
	default:
		return answer{unknown: true}
	}
}

// TestPlaceResizeReleaseAndGetAreLinearizable lets 8 clients use the ledger while leaders
// are cut off from the others.
func TestPlaceResizeReleaseAndGetAreLinearizable(t *testing.T) {
	const clients, requests = 8, 150
	var history []porcupine.Operation
	changes := 0
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 3, 0)
		capacity := &model.Capacity{Pool: onePool, ExtentSize: 1, Extents: room, Percent: 100}
		capacity.Name = onePool.String()
		txn, _ := state.NewTxn("test", "make room").Put(capacity).Txn()
		c.propose(c.leader(), txn)

		var order atomic.Int64 // time stands still in a bubble while there is work
		var mu sync.Mutex
		ctx, cancel := context.WithCancel(t.Context())
		var cuts, all sync.WaitGroup
		cuts.Go(func() {
			for ctx.Err() == nil {
				c.isolate(c.leader().id)
				changes++
				time.Sleep(3 * time.Second)
				c.heal()
				time.Sleep(3 * time.Second)
			}
		})
		for client := range clients {
			all.Go(func() {
				dice := rand.New(rand.NewPCG(uint64(client), 17))
				for range requests {
					m := c.members[fmt.Sprintf("n%d", 1+dice.IntN(3))]
					if l := c.leaderNow(); l != nil && dice.IntN(4) > 0 {
						m = l
					}
					q := request{read: dice.IntN(4) == 0, owner: fmt.Sprintf("o%d", dice.IntN(5)), bytes: int64(dice.IntN(4)) * 20}
					call := order.Add(1)
					a := carryOut(ctx, m, q)
					op := porcupine.Operation{ClientId: client, Input: q, Output: a, Call: call, Return: order.Add(1)}
					if a.unknown {
						op.Return = 1 << 40 // it may still happen
					}
					if !a.nothing {
						mu.Lock()
						history = append(history, op)
						mu.Unlock()
					}
					time.Sleep(time.Duration(dice.IntN(300)) * time.Millisecond)
				}
			})
		}
		all.Wait()
		cancel()
		cuts.Wait()
		c.heal()
		c.agree()
	})
	prove(t, history, changes) // outside: the check's own clock must run
}

// leaderNow is a member that believes to lead; nil: none does.
func (c *cluster) leaderNow() *member {
	for _, m := range c.members {
		if m.Stats().State == "Leader" {
			return m
		}
	}
	return nil
}

// prove checks the history, and that it was worth checking.
func prove(t *testing.T, history []porcupine.Operation, changes int) {
	t.Helper()
	count := map[string]int{}
	for i, op := range history {
		switch a := op.Output.(answer); {
		case a.unknown:
			count["unknown"]++
			history[i].ClientId = 1000 + i // its client went on
		case op.Input.(request).read:
			count["read"]++
		case a.ok:
			count["granted"]++
		default:
			count["refused"]++
		}
	}
	for _, kind := range []string{"read", "granted", "refused"} {
		if count[kind] < 10 {
			t.Errorf("only %d requests were %s: this run shows nothing: %v", count[kind], kind, count)
		}
	}
	if changes < 2 {
		t.Errorf("only %d changes of leader", changes)
	}
	result, _ := porcupine.CheckOperationsVerbose(ledgerModel, history, time.Minute)
	if result != porcupine.Ok {
		t.Errorf("the history is %s: %d operations", result, len(history))
	}
	t.Logf("%d operations %v, %d changes of leader", len(history), count, changes)
}
