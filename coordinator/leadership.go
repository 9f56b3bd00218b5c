package coordinator

import (
	"context"
	"sync"
	"time"

	"rvol/coordinator/consensus"
	"rvol/coordinator/model"
	"rvol/coordinator/serve"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
)

// leadership is who leads, for the doors.
type leadership struct {
	node  *consensus.Node
	store *state.Store

	mu      sync.Mutex
	now     consensus.Leadership
	since   time.Time
	changed chan struct{}
}

var _ serve.Cluster = (*leadership)(nil)

func newLeadership(node *consensus.Node, store *state.Store) *leadership {
	return &leadership{node: node, store: store, since: time.Now(), changed: make(chan struct{})}
}

// Leadership returns who leads now.
func (l *leadership) Leadership() door.Leadership {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := door.Leadership{Leading: l.now.Leading, Leader: l.now.Leader, Since: l.since, Changed: l.changed}
	if m, ok := state.Get[*model.Member](l.store.View(), l.now.Leader); ok {
		out.Addr = m.APIAddr
	}
	return out
}

// Read returns once this leader's memory holds everything acknowledged before.
func (l *leadership) Read(ctx context.Context) error {
	_, err := l.node.ConsistentRead(ctx)
	return err
}

func (l *leadership) set(now consensus.Leadership) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == now {
		return
	}
	if (l.now.Leader == "") != (now.Leader == "") {
		l.since = time.Now()
	}
	l.now = now
	close(l.changed)
	l.changed = make(chan struct{})
}
