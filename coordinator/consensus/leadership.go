package consensus

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Leadership is who leads, as this member sees it.
type Leadership struct {
	Term    uint64
	Leader  string // id of the leader; empty: none is known
	Leading bool   // it is this member, and its store has everything of the terms before
}

// leadership is the newest Leadership, and a channel that is closed when it changes.
type leadership struct {
	mu      sync.Mutex
	now     Leadership
	changed chan struct{}
}

func (l *leadership) get() (Leadership, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now, l.changed
}

func (l *leadership) set(now Leadership) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == now {
		return
	}
	l.now = now
	close(l.changed)
	l.changed = make(chan struct{})
}

// Leader returns the id and the API address of the leader; empty: none is known.
func (n *Node) Leader() (id, addr string) {
	_, leader := n.raft.LeaderWithID()
	return string(leader), n.apiAddr(string(leader))
}

// LeaderChanges yields who leads now, and again at every change, until ctx ends or the
// node is closed. A slow reader sees the newest only.
func (n *Node) LeaderChanges(ctx context.Context) iter.Seq[Leadership] {
	return func(yield func(Leadership) bool) {
		for {
			l, changed := n.leadership.get()
			if !yield(l) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			case <-n.stopped.Done():
				return
			}
		}
	}
}

// watchLeadership keeps n.leadership up to date. A new leader leads only after a barrier:
// before it, the store may lack what earlier leaders acknowledged.
func (n *Node) watchLeadership() {
	observations := make(chan raft.Observation, 16)
	observer := raft.NewObserver(observations, false, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	})
	n.raft.RegisterObserver(observer)
	defer n.raft.DeregisterObserver(observer)
	passed := make(chan uint64, 1) // terms whose barrier is behind us
	var behind, trying uint64
	for {
		term, leading := n.raft.CurrentTerm(), n.raft.State() == raft.Leader
		_, leader := n.raft.LeaderWithID()
		n.leadership.set(Leadership{Term: term, Leader: string(leader), Leading: leading && behind == term})
		if leading && behind != term && trying == 0 {
			trying = term
			n.tasks.Go(func() { passed <- n.barrier(term) })
		}
		select {
		case <-n.raft.LeaderCh():
		case <-observations:
		case behind = <-passed:
			trying = 0
		case <-n.stopped.Done():
			return
		}
	}
}

// barrier waits until everything before it is applied and returns term, or 0.
func (n *Node) barrier(term uint64) uint64 {
	err := n.raft.Barrier(0).Error()
	if err == nil {
		return term
	}
	n.log.Warn("the new leader cannot catch up yet", "term", term, "err", err)
	select {
	case <-time.After(n.cfg.HeartbeatTimeout / 10):
	case <-n.stopped.Done():
	}
	return 0
}
