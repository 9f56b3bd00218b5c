package consensus

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

const (
	batchSize      = 64               // transactions in one entry at most
	batchWait      = time.Millisecond // how long a transaction waits for company while another entry is under way
	enqueueTimeout = 10 * time.Second
)

// A proposal is one transaction on its way into the log.
type proposal struct {
	txn  []byte
	done chan outcome // buffered: nobody need wait for it
}

type outcome struct {
	result state.Result
	err    error
}

func (p *proposal) finish(res state.Result, err error) { p.done <- outcome{res, err} }

// Propose puts a transaction through the log and answers with the index at which it is
// in force; see state.Proposer.
func (n *Node) Propose(ctx context.Context, t state.Txn) (uint64, error) {
	b, err := state.EncodeTxn(t)
	if err != nil {
		return 0, err
	}
	p := &proposal{txn: b, done: make(chan outcome, 1)}
	select {
	case n.proposed <- p:
	case <-ctx.Done():
		return 0, fmt.Errorf("propose %q: it was not tried: %w", t.Cause, ctx.Err())
	case <-n.stopped.Done():
		return 0, fmt.Errorf("propose %q: %w: this coordinator is stopping", t.Cause, model.ErrUnavailable)
	}
	select {
	case o := <-p.done:
		if o.err == nil {
			o.err = o.result.Err()
		}
		if o.err != nil {
			return 0, fmt.Errorf("%s: %w", t.Cause, o.err)
		}
		return o.result.Revision, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("%s: %w: %w", t.Cause, model.ErrUnknown, ctx.Err())
	}
}

// propose gathers what is waiting into entries and hands them to Raft. With nothing
// under way it does not wait for more: a lone client is as fast as the disk.
func (n *Node) propose() {
	flights := make(chan flight, 16)
	var aloft atomic.Int64
	n.tasks.Go(func() {
		for f := range flights {
			f.land(n)
			aloft.Add(-1)
		}
	})
	defer close(flights)
	for {
		select {
		case p := <-n.proposed:
			if f, ok := n.launch(n.gather(p, aloft.Load() > 0)); ok {
				aloft.Add(1)
				flights <- f
			}
		case <-n.stopped.Done():
			return
		}
	}
}

// gather takes what waits already, and, when there is time, what comes within batchWait.
func (n *Node) gather(first *proposal, wait bool) []*proposal {
	batch := []*proposal{first}
	var end <-chan time.Time
	if wait {
		timer := time.NewTimer(batchWait)
		defer timer.Stop()
		end = timer.C
	}
	for len(batch) < batchSize {
		if !wait {
			select {
			case p := <-n.proposed:
				batch = append(batch, p)
				continue
			default:
				return batch
			}
		}
		select {
		case p := <-n.proposed:
			batch = append(batch, p)
		case <-end:
			return batch
		case <-n.stopped.Done():
			return batch
		}
	}
	return batch
}

// A flight is an entry that Raft has.
type flight struct {
	batch  []*proposal
	future raft.ApplyFuture
}

// launch makes an entry of the batch. When there is no place for one, or this is not the
// leader, the batch is refused at once and for certain.
func (n *Node) launch(batch []*proposal) (flight, bool) {
	err := n.ready()
	var entry []byte
	if err == nil {
		txns := make([][]byte, len(batch))
		for i, p := range batch {
			txns[i] = p.txn
		}
		entry = state.EncodeEntry(n.cfg.Clock(), txns...)
	}
	if err != nil {
		for _, p := range batch {
			p.finish(state.Result{}, err)
		}
		return flight{}, false
	}
	return flight{batch: batch, future: n.raft.Apply(entry, enqueueTimeout)}, true
}

// ready says why nothing can be proposed here now.
func (n *Node) ready() error {
	if err := n.guard.failed(); err != nil {
		return err
	}
	if n.raft.State() != raft.Leader {
		return n.notLeader()
	}
	return n.room(0)
}

// room says why so many bytes more are not to be written.
func (n *Node) room(more int64) error {
	space, err := n.cfg.Free()
	if err != nil {
		return fmt.Errorf("%w: look at the free space in %s: %w", model.ErrUnavailable, n.cfg.Dir, err)
	}
	return space.check(n.cfg.Dir, more)
}

// land waits for Raft and tells everybody in the batch what became of it.
func (f flight) land(n *Node) {
	err := n.explain(f.future.Error())
	results, ok := []state.Result(nil), false
	if err == nil {
		results, ok = f.future.Response().([]state.Result)
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w: %v", model.ErrUnknown, f.future.Response())
	}
	if failed := n.guard.failed(); err == nil && failed != nil {
		err = fmt.Errorf("%w: %w", model.ErrUnknown, failed)
	}
	for i, p := range f.batch {
		if err != nil {
			p.finish(state.Result{}, err)
			continue
		}
		p.finish(results[i], nil)
	}
}

// explain turns Raft's errors into ours. Only what certainly did not happen is said to
// have failed.
func (n *Node) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader):
		return n.notLeader()
	case errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w: leadership is being handed over, try again", model.ErrUnavailable)
	default: // leadership lost, timeout, shutdown, a store that failed: it may yet be committed
		return fmt.Errorf("%w: %w", model.ErrUnknown, err)
	}
}

func (n *Node) notLeader() error {
	_, id := n.raft.LeaderWithID()
	return &model.NotLeaderError{Leader: n.apiAddr(string(id))}
}

// apiAddr is where the member called id serves people and agents.
func (n *Node) apiAddr(id string) string {
	m, ok := state.Get[*model.Member](n.store.View(), id)
	if !ok {
		return ""
	}
	return m.APIAddr
}
