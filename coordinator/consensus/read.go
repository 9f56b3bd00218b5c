package consensus

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// ConsistentRead returns a view that has everything acknowledged before the call. It is
// for the leader, and fails elsewhere with *model.NotLeaderError; Store.View answers
// everywhere, but may lag.
func (n *Node) ConsistentRead(ctx context.Context) (state.View, error) {
	if err := n.guard.failed(); err != nil {
		return state.View{}, err
	}
	if err := n.caughtUp(ctx); err != nil {
		return state.View{}, err
	}
	commit := n.raft.CommitIndex()
	if err := n.await(ctx, n.raft.VerifyLeader()); err != nil {
		if errors.Is(err, raft.ErrLeadershipLost) || errors.Is(err, raft.ErrNotLeader) {
			err = n.notLeader()
		}
		return state.View{}, fmt.Errorf("read: %w", err)
	}
	index, err := n.lastCommand(commit)
	if err == nil {
		err = n.store.Wait(ctx, index)
	}
	if err != nil {
		return state.View{}, fmt.Errorf("read: %w", err)
	}
	return n.store.View(), nil
}

// caughtUp waits for the barrier of this term, once.
func (n *Node) caughtUp(ctx context.Context) error {
	for {
		l, changed := n.leadership.get()
		if l.Leading && l.Term == n.raft.CurrentTerm() {
			return nil
		}
		if n.raft.State() != raft.Leader {
			return fmt.Errorf("read: %w", n.notLeader())
		}
		select {
		case <-changed:
		case <-n.stopped.Done():
			return fmt.Errorf("read: %w: this coordinator is stopping", model.ErrUnavailable)
		case <-ctx.Done():
			return fmt.Errorf("read: wait for the new leader to catch up: %w", ctx.Err())
		}
	}
}

// lastCommand is the index of the last entry up to commit that the store gets to see:
// Raft keeps its own entries to itself.
func (n *Node) lastCommand(commit uint64) (uint64, error) {
	for i := commit; i > n.store.Index(); i-- {
		var l raft.Log
		err := n.logs.GetLog(i, &l)
		switch {
		case errors.Is(err, raft.ErrLogNotFound):
			return 0, nil // it made room for a snapshot: the store has it
		case err != nil:
			return 0, fmt.Errorf("read log entry %d: %w", i, err)
		case l.Type == raft.LogCommand:
			return i, nil
		}
	}
	return 0, nil
}

// await returns when f is done, ctx ends, or the node is closed.
func (n *Node) await(ctx context.Context, f raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Error() }() // ends when Raft answers; it need not once it stops
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-n.stopped.Done():
		return raft.ErrRaftShutdown
	}
}

// SaveSnapshot writes the state as it is now. It holds secrets.
func (n *Node) SaveSnapshot(ctx context.Context, w io.Writer) (state.SnapshotHead, error) {
	v, err := n.ConsistentRead(ctx)
	if err != nil {
		return state.SnapshotHead{}, err
	}
	_, err = v.WriteTo(w)
	return v.SnapshotHead(), err
}
