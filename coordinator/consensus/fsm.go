package consensus

import (
	"io"

	"github.com/hashicorp/raft"

	"rvol/coordinator/state"
)

// fsm feeds the log to the store.
type fsm struct {
	store *state.Store
	guard *guard
}

// Apply answers with the results of the entry, or with the error that ends this process.
func (f *fsm) Apply(l *raft.Log) any {
	if err := f.guard.failed(); err != nil {
		return err
	}
	results, err := f.store.Apply(l.Index, l.Data)
	if err != nil {
		return f.guard.fail("follow the log", err)
	}
	return results
}

// Snapshot takes no time: it shares everything with the store.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	if err := f.guard.failed(); err != nil {
		return nil, err
	}
	return snapshot{f.store.View(), f.store.SyncAudit}, nil
}

// Restore replaces the state by a snapshot.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer func() { _ = r.Close() }() // read only
	return f.store.Restore(r)
}

type snapshot struct {
	view state.View
	sync func()
}

func (s snapshot) Persist(sink raft.SnapshotSink) error {
	s.sync()
	if _, err := s.view.WriteTo(sink); err != nil {
		_ = sink.Cancel() // the error that matters is the first
		return err
	}
	return sink.Close()
}

func (s snapshot) Release() {}
