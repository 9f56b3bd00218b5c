package consensus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/consensus"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

func TestAMinorityNeitherAcknowledgesNorAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 3, 0)
		old := c.leader()
		c.propose(old, put("a", "before"))
		c.isolate(old.id)
		begun := time.Now()
		if _, err := old.Propose(t.Context(), put("a", "minority")); !errors.Is(err, model.ErrUnknown) {
			t.Errorf("propose without a majority: %v, want ErrUnknown", err)
		}
		if _, err := old.ConsistentRead(t.Context()); !errors.Is(err, model.ErrUnavailable) {
			t.Errorf("read without a majority: %v, want ErrUnavailable", err)
		}
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("it took %v to say so", took)
		}
		c.propose(c.leader(old.id), put("b", "majority"))
		c.heal()
		c.agree()
		a, _ := state.Get[*model.Node](old.store.View(), "a")
		_, b := state.Get[*model.Node](old.store.View(), "b")
		if a.Zone != "before" || !b {
			t.Errorf("after the partition: a is %q, b is there: %v", a.Zone, b)
		}
	})
}

func TestAFollowerNamesTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 3, 0)
		leader := c.leader()
		for id := range c.members {
			txn, _ := state.NewTxn("test", "join").PutAnyway(&model.Member{Meta: model.Meta{Name: id}, APIAddr: id + ":3367"}).Txn()
			c.propose(leader, txn)
		}
		c.agree()
		for id, m := range c.members {
			if id == leader.id {
				continue
			}
			_, err := m.Propose(t.Context(), put("a", ""))
			var not *model.NotLeaderError
			if !errors.As(err, &not) || not.Leader != leader.id+":3367" {
				t.Errorf("propose on %s: %v, want it to name %s:3367", id, err, leader.id)
			}
			if _, err := m.ConsistentRead(t.Context()); !errors.As(err, &not) || not.Leader != leader.id+":3367" {
				t.Errorf("read on %s: %v, want it to name %s:3367", id, err, leader.id)
			}
			if gotID, addr := m.Leader(); gotID != leader.id || addr != leader.id+":3367" {
				t.Errorf("%s says that %s at %s leads", id, gotID, addr)
			}
		}
	})
}

// TestNoAcknowledgedWriteIsLost lets clients write through one leader change after the
// other. A client whose write has an unknown outcome repeats the request.
func TestNoAcknowledgedWriteIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, isolations = 8, 20
		c := start(t, 3, 0)
		c.leader()
		ctx, stop := context.WithCancel(t.Context())
		acked := make([]map[string]uint64, clients) // object -> revision that was acknowledged
		unknown := make([]int, clients)
		var wg sync.WaitGroup
		for i := range clients {
			acked[i] = map[string]uint64{}
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					name := fmt.Sprintf("c%d-%d", i, n)
					rev, unsure := c.insist(ctx, name)
					unknown[i] += unsure
					if rev > 0 {
						acked[i][name] = rev
					}
					time.Sleep(100 * time.Millisecond) // the network and the disk take no time here
				}
			})
		}
		for range isolations {
			time.Sleep(5 * time.Second)
			leader := c.leader()
			c.isolate(leader.id)
			c.leader(leader.id)
			c.heal()
		}
		stop()
		wg.Wait()
		c.agree()
		v := c.leader().store.View()
		writes, unsure := 0, 0
		for i := range clients {
			unsure += unknown[i]
			for name, rev := range acked[i] {
				writes++
				if n, ok := state.Get[*model.Node](v, name); !ok || n.Revision != rev {
					t.Errorf("%s was acknowledged at %d and is %v", name, rev, n)
				}
			}
		}
		if writes < 1000 || unsure < isolations {
			t.Errorf("%d writes, %d unknown outcomes: too few to show anything", writes, unsure)
		}
	})
}

// insist makes a node called name, asking one member after the other with the same
// request id until one acknowledges it or ctx ends, and counts the unknown outcomes.
func (c *cluster) insist(ctx context.Context, name string) (rev uint64, unknown int) {
	txn, _ := state.NewTxn("test", "make "+name).Request(name).Put(&model.Node{Meta: model.Meta{Name: name}}).Txn()
	for {
		for _, m := range c.members {
			rev, err := m.Propose(ctx, txn)
			switch {
			case err == nil:
				return rev, unknown
			case ctx.Err() != nil:
				return 0, unknown
			case errors.Is(err, model.ErrUnknown):
				unknown++
			case !errors.Is(err, model.ErrUnavailable):
				c.t.Errorf("%s: %v", name, err) // a repeated request must not meet its own object
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestAFollowerThatLagsTooFarGetsASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 3, 0, func(cfg *consensus.Config) {
			cfg.SnapshotThreshold, cfg.SnapshotInterval, cfg.TrailingLogs = 50, time.Second, 10
		})
		leader := c.leader()
		lagging := c.members["n1"]
		if lagging == leader {
			lagging = c.members["n2"]
		}
		c.isolate(lagging.id)
		for i := range 200 {
			c.propose(leader, put(fmt.Sprint(i), ""))
		}
		time.Sleep(10 * time.Second)
		all := make(chan bool, 1)
		defer lagging.store.Watch(func(_ uint64, keys []model.Key) {
			if keys == nil {
				all <- true
			}
		})()
		c.heal()
		c.agree()
		if len(all) == 0 {
			t.Error("it caught up without a snapshot: this test shows nothing")
		}
		c.propose(c.leader(), put("after", ""))
		c.agree()
	})
}

func TestAMemberGoesOnFromItsDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 3, 0, func(cfg *consensus.Config) {
			cfg.SnapshotThreshold, cfg.SnapshotInterval, cfg.TrailingLogs = 50, time.Second, 10
		})
		for i := range 100 {
			c.propose(c.leader(), put(fmt.Sprint(i), ""))
		}
		time.Sleep(10 * time.Second)
		c.propose(c.leader(), put("tail", ""))
		c.agree()
		hash := c.members["n1"].store.Hash()
		for id := range c.members {
			c.stop(id)
		}
		for id := range c.members {
			c.run(id)
		}
		c.heal()
		c.leader()
		c.agree()
		if c.members["n1"].store.Hash() != hash {
			t.Error("after all were restarted they remember something else")
		}
	})
}

func TestRefusalsAreToldOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 1, 0)
		leader := c.leader()
		var wg sync.WaitGroup
		var mu sync.Mutex
		accepted, refused := 0, 0
		for range 200 {
			wg.Go(func() {
				txn, _ := state.NewTxn("test", "only one").Put(&model.Node{Meta: model.Meta{Name: "one"}}).Txn()
				_, err := leader.Propose(t.Context(), txn)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					accepted++
				case errors.Is(err, model.ErrExists):
					refused++
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if accepted != 1 || refused != 199 {
			t.Errorf("%d accepted, %d refused", accepted, refused)
		}
		if entries := leader.Stats().LastLog; entries > 20 {
			t.Errorf("200 transactions made %d log entries: they should share", entries)
		}
	})
}

func TestProposeWithoutHope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 1, 0)
		leader := c.leader()
		bad := state.Txn{Cause: "nonsense", Put: []state.Put{{Key: model.Key{Kind: model.KindNode, Name: "a"}, Value: []byte("{")}}}
		if _, err := leader.Propose(t.Context(), bad); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("propose nonsense: %v", err)
		}
		c.propose(leader, put("a", ""))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := leader.Propose(ctx, put("b", "")); !errors.Is(err, context.Canceled) {
			t.Errorf("propose without time: %v", err)
		}
		c.stop(leader.id)
		if _, err := leader.Propose(t.Context(), put("c", "")); !errors.Is(err, model.ErrUnavailable) {
			t.Errorf("propose after the end: %v", err)
		}
	})
}

func TestSaveSnapshotHoldsWhatWasAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 3, 0)
		leader := c.leader()
		c.propose(leader, put("a", "1"))
		var saved bytes.Buffer
		head, err := leader.SaveSnapshot(t.Context(), &saved)
		if err != nil {
			t.Fatal(err)
		}
		restored := state.NewStore(state.Options{})
		if err := restored.Restore(&saved); err != nil {
			t.Fatal(err)
		}
		if _, ok := state.Get[*model.Node](restored.View(), "a"); !ok || restored.Hash() != head.Hash {
			t.Error("the snapshot lacks what was acknowledged")
		}
	})
}
