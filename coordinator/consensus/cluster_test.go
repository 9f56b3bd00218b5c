package consensus_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"rvol/coordinator/consensus"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// cluster is some members in one synctest bubble, on an in-memory network.
type cluster struct {
	t       *testing.T
	members map[string]*member
	setup   []func(*consensus.Config)
	trail   trail
}

type member struct {
	*consensus.Node
	id     string
	net    *raft.InmemTransport
	store  *state.Store
	stores *consensus.Stores // its disk
	fatal  chan error
	down   bool
}

// trail proves, header by header, that all members make the same of the log.
type trail struct {
	t  *testing.T
	mu sync.Mutex

	headers map[string]state.Hash
}

func (tr *trail) Append(entry []state.Header) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, h := range entry {
		at := fmt.Sprintf("%d.%d", h.Index, h.Number)
		if first, ok := tr.headers[at]; ok && first != h.Hash {
			tr.t.Errorf("members disagree about transaction %s", at)
		}
		tr.headers[at] = h.Hash
	}
}

func (tr *trail) Sync() {}

// start starts members n1, n2 ... of which the first make the cluster.
func start(t *testing.T, voters, others int, setup ...func(*consensus.Config)) *cluster {
	t.Helper()
	c := &cluster{t: t, members: map[string]*member{}, setup: setup, trail: trail{t: t, headers: map[string]state.Hash{}}}
	var servers []consensus.Server
	for i := range voters + others {
		id := fmt.Sprintf("n%d", i+1)
		disk := raft.NewInmemStore()
		c.members[id] = &member{id: id, stores: &consensus.Stores{Log: disk, Stable: disk, Snapshots: raft.NewInmemSnapshotStore()}}
		if i < voters {
			servers = append(servers, consensus.Server{ID: id, Addr: id})
		}
		c.run(id)
	}
	c.heal()
	if err := c.members["n1"].Bootstrap(servers...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for id := range c.members {
			c.stop(id)
		}
	})
	return c
}

// run starts a member on what it has on disk.
func (c *cluster) run(id string) {
	c.t.Helper()
	m := c.members[id]
	_, m.net = raft.NewInmemTransportWithTimeout(raft.ServerAddress(id), time.Second)
	m.store = state.NewStore(state.Options{Sink: &c.trail})
	m.fatal = make(chan error, 1)
	cfg := consensus.Config{
		ID: id, Dir: "/disk/of/" + id, Transport: m.net, Store: m.store, Stores: m.stores,
		Logger: slog.New(slog.DiscardHandler),
		Free:   func() (consensus.Space, error) { return consensus.Space{Free: 1 << 40, Total: 1 << 40}, nil },
		OnFatal: func(err error) { // as if the process had ended
			m.fatal <- err
			c.isolate(id)
			runtime.Goexit()
		},
	}
	for _, set := range c.setup {
		set(&cfg)
	}
	node, err := consensus.New(cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	m.Node, m.down = node, false
}

func (c *cluster) stop(id string) {
	c.isolate(id)
	m := c.members[id]
	if m.down {
		return
	}
	m.down = true
	if err := m.Close(); err != nil {
		c.t.Errorf("close %s: %v", id, err)
	}
}

func (c *cluster) heal() {
	for a, from := range c.members {
		for b, to := range c.members {
			if a != b && !from.down && !to.down {
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

// leader waits for a member that leads, other than those named.
func (c *cluster) leader(except ...string) *member {
	c.t.Helper()
	for range 600 {
		for _, id := range slices.Sorted(maps.Keys(c.members)) {
			m := c.members[id]
			if m.down || slices.Contains(except, id) || m.Stats().State != "Leader" {
				continue
			}
			ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
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

// agree waits until all members that are up remember the same.
func (c *cluster) agree() {
	c.t.Helper()
	for range 600 {
		hashes := map[string]bool{}
		for _, m := range c.members {
			if !m.down && len(m.fatal) == 0 {
				hashes[m.store.View().Hash().String()] = true
			}
		}
		if len(hashes) == 1 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.t.Error("the members remember different things a minute later")
}

// put is a transaction that stores a node.
func put(name, zone string) state.Txn {
	t, _ := state.NewTxn("admin/test", "set "+name).PutAnyway(&model.Node{Meta: model.Meta{Name: name}, Zone: zone}).Txn()
	return t
}

func (c *cluster) propose(m *member, t state.Txn) {
	c.t.Helper()
	if _, err := m.Propose(c.t.Context(), t); err != nil {
		c.t.Fatal(err)
	}
}
