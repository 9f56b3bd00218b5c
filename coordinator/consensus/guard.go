package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"

	"rvol/coordinator/model"
)

// A guard remembers the first failure of a member for ever.
type guard struct {
	onFatal func(error)

	mu  sync.Mutex
	err error
}

// failed returns the failure, if there was one.
func (g *guard) failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// fail records err, unless another came first, and returns what is recorded.
func (g *guard) fail(doing string, err error) error {
	g.mu.Lock()
	first := g.err == nil
	if first {
		g.err = fmt.Errorf("%w: %s: %w", model.ErrStopped, doing, err)
	}
	err = g.err
	g.mu.Unlock()
	if first {
		g.onFatal(err)
	}
	return err
}

// write runs op, unless a write failed before.
func (g *guard) write(doing string, op func() error) error {
	if err := g.failed(); err != nil {
		return err
	}
	if err := op(); err != nil {
		return g.fail(doing, err)
	}
	return nil
}

// guardedLog is a log store that trusts its disk until the first failed write, and its
// contents only as far as their checksums go.
type guardedLog struct {
	raft.LogStore
	guard *guard
}

func (s *guardedLog) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *guardedLog) StoreLogs(logs []*raft.Log) error {
	sealed := make([]*raft.Log, len(logs))
	for i, l := range logs {
		sealed[i] = seal(l)
	}
	return s.guard.write("write the log", func() error { return s.LogStore.StoreLogs(sealed) })
}

func (s *guardedLog) DeleteRange(low, high uint64) error {
	return s.guard.write("shorten the log", func() error { return s.LogStore.DeleteRange(low, high) })
}

func (s *guardedLog) GetLog(index uint64, l *raft.Log) error {
	err := s.LogStore.GetLog(index, l)
	if err == nil {
		err = unseal(index, l)
	}
	if err != nil && !errors.Is(err, raft.ErrLogNotFound) {
		return s.guard.fail(fmt.Sprintf("read log entry %d", index), err)
	}
	return err
}

// guardedStable keeps the term and the vote, with checksums.
type guardedStable struct {
	store raft.StableStore
	guard *guard
}

// errKeyNotFound is how Raft knows, by its text, that there is no value.
const errKeyNotFound = "not found"

func (s *guardedStable) Set(key, value []byte) error {
	return s.guard.write("write "+string(key), func() error { return s.store.Set(key, sealValue(key, value)) })
}

func (s *guardedStable) Get(key []byte) ([]byte, error) {
	b, err := s.store.Get(key)
	if err != nil {
		return nil, err
	}
	return unsealValue(key, b)
}

func (s *guardedStable) SetUint64(key []byte, value uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, value))
}

func (s *guardedStable) GetUint64(key []byte) (uint64, error) {
	b, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(b) != 8 {
		return 0, fmt.Errorf("%s: %d bytes, want 8", key, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

// guardedSnapshots keeps snapshots.
type guardedSnapshots struct {
	raft.SnapshotStore
	guard *guard
}

//nolint:revive // argument-limit: this is Raft's interface
func (s *guardedSnapshots) Create(v raft.SnapshotVersion, index, term uint64, c raft.Configuration, cIndex uint64, t raft.Transport) (raft.SnapshotSink, error) {
	var sink raft.SnapshotSink
	err := s.guard.write("begin a snapshot", func() (err error) {
		sink, err = s.SnapshotStore.Create(v, index, term, c, cIndex, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &guardedSink{SnapshotSink: sink, guard: s.guard}, nil
}

type guardedSink struct {
	raft.SnapshotSink
	guard *guard
}

func (s *guardedSink) Write(b []byte) (n int, err error) {
	err = s.guard.write("write a snapshot", func() (err error) {
		n, err = s.SnapshotSink.Write(b)
		return err
	})
	return n, err
}

func (s *guardedSink) Close() error { return s.guard.write("finish a snapshot", s.SnapshotSink.Close) }
