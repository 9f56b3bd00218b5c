package consensus

import (
	"context"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"rvol/coordinator/state"
)

// A Snapshot is a state to go on from, as View.WriteTo writes it.
type Snapshot struct {
	Head state.SnapshotHead
	Size int64 // bytes
	Data io.Reader
}

// Restore replaces the state of all members by a snapshot; who is a member stays as it
// is. It returns when a majority has taken it.
func (n *Node) Restore(ctx context.Context, s Snapshot) error {
	err := n.ready()
	if err == nil {
		err = n.room(s.Size) // a disk that fills up on the way ends this member
	}
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	meta := &raft.SnapshotMeta{Version: raft.SnapshotVersionMax, Index: s.Head.Index, Size: s.Size}
	return n.changed(ctx, "restore", restoring(func() error { return n.raft.Restore(meta, s.Data, 0) }))
}

// restoring is a future that does its work when it is asked for its error.
type restoring func() error

func (f restoring) Error() error { return f() }
