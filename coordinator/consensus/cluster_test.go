package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"

	"rvol/coordinator/consensus"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// cluster is some members in one synctest bubble, on an in-memory network.
type cluster struct {
	t       *testing.T
	members map[string]*member
}

type member struct {
	*consensus.Node
	id     string
	net    *raft.InmemTransport
	store  *state.Store
	stores *consensus.Stores
	fatal  chan error
	closed bool
}

// start starts members n1 to nN, of which the first `voters` make the cluster.
func start(t *testing.T, voters, total int, with ...func(*consensus.Config)) *cluster {
	t.Helper()
	c := &cluster{t: t, members: map[string]*member{}}
	var servers []consensus.Server
	for i := range total {
		id := fmt.Sprintf("n%d", i+1)
		snapshots := raft.NewInmemSnapshotStore()
		memory := raft.NewInmemStore()
		c.members[id] = &member{id: id, stores: &consensus.Stores{Log: memory, Stable: memory, Snapshots: snapshots}}
		if i < voters {
			servers = append(servers, consensus.Server{ID: id, Addr: id})
		}
	}
	for id := range c.members {
		c.run(id, with...)
	}
	c.heal()
	if err := c.members["n1"].Bootstrap(servers...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// run starts, or starts again, one member on what it has on disk.
func (c *cluster) run(id string, with ...func(*consensus.Config)) {
	c.t.Helper()
	m := c.members[id]
	_, m.net = raft.NewInmemTransportWithTimeout(raft.ServerAddress(id), time.Second)
	m.store = state.NewStore(state.Options{})
	m.fatal = make(chan error, 1)
	net := m.net
	cfg := consensus.Config{
		ID: id, Dir: "memory", Transport: m.net, Store: m.store, Stores: m.stores,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Free:   func() (consensus.Space, error) { return consensus.Space{Free: 1 << 40, Total: 1 << 40}, nil },
		OnFatal: func(err error) { // as if the process had ended
			m.fatal <- err
			net.DisconnectAll()
			runtime.Goexit()
		},
	}
	for _, set := range with {
		set(&cfg)
	}
	node, err := consensus.New(cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	m.Node, m.closed = node, false
}

func (c *cluster) close() {
	for id := range c.members {
		c.stop(id)
	}
}

func (c *cluster) stop(id string) {
	m := c.members[id]
	c.isolate(id)
	if m.closed {
		return
	}
	m.closed = true
	if err := m.Close(); err != nil {
		c.t.Errorf("close %s: %v", id, err)
	}
}

func (c *cluster) heal() {
	for a, from := range c.members {
		for b, to := range c.members {
			if a != b && !from.closed && !to.closed {
				from.net.Connect(raft.ServerAddress(b), to.net)
			}
		}
	}
}

func (c *cluster) isolate(id string) {
	c.members[id].net.DisconnectAll()
	for other, m := range c.members {
		if other != id {
			m.net.Disconnect(raft.ServerAddress(id))
		}
	}
}

// leader waits for a member that leads and has caught up, other than those named.
func (c *cluster) leader(except ...string) *member {
	c.t.Helper()
	for range 600 {
		for id, m := range c.members {
			skip := m.closed
			for _, e := range except {
				skip = skip || e == id
			}
			if skip {
				continue
			}
			ctx, cancel := context.WithTimeout(c.t.Context(), 50*time.Millisecond)
			_, err := m.ConsistentRead(ctx)
			cancel()
			if err == nil {
				return m
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.t.Fatal("no leader within a minute")
	return nil
}

func put(name, zone string) state.Txn {
	t, _ := state.NewTxn("admin/test", "set "+name).PutAnyway(&model.Node{Meta: model.Meta{Name: name}, Zone: zone}).Txn()
	return t
}

func TestClusterElectsReplicatesAndSurvivesAPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, 3, 3)
		first := c.leader()
		if _, err := first.Propose(t.Context(), put("a", "1")); err != nil {
			t.Fatal(err)
		}
		c.isolate(first.id)
		second := c.leader(first.id)
		if _, err := second.Propose(t.Context(), put("b", "2")); err != nil {
			t.Fatal(err)
		}
		c.heal()
		time.Sleep(10 * time.Second)
		hash := second.store.Hash()
		for id, m := range c.members {
			if diff := cmp.Diff(second.store.Index(), m.store.Index()); diff != "" {
				t.Errorf("%s is at another index (-want +got):\n%s", id, diff)
			}
			if m.store.Hash() != hash {
				t.Errorf("%s remembers something else", id)
			}
		}
		_, err := first.Propose(t.Context(), put("c", "3"))
		var not *model.NotLeaderError
		if !errors.As(err, &not) {
			t.Errorf("propose on a follower: %v, want a NotLeaderError", err)
		}
	})
}
