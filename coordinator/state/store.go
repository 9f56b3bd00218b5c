package state

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"rvol/coordinator/model"
)

// The formats of the state that this binary serves. What came with a format is unknown in
// those before it, to every binary.
const (
	MinFormat = 1
	MaxFormat = 2

	FormatQuotas = 2 // quotas may be made
)

// Options of a store. The zero value is what a coordinator uses, but for the Sink.
type Options struct {
	Sink    Sink   // told of every transaction; nil: nobody
	Formats [2]int // lowest and highest format to serve; zero: MinFormat to MaxFormat
}

// A Store is the memory of one coordinator. Apply and Restore are for one goroutine at
// a time; everything else may be called by many.
type Store struct {
	opts Options
	view atomic.Pointer[tables] // of the last entry applied whole, if somebody asked for one before it

	mu       sync.Mutex
	t        *tables
	fatal    error         // set once: the process must stop
	applied  chan struct{} // closed and replaced after each entry
	watchers map[*watcher]struct{}
}

// NewStore returns an empty store.
func NewStore(opts Options) *Store {
	if opts.Formats == [2]int{} {
		opts.Formats = [2]int{MinFormat, MaxFormat}
	}
	return &Store{
		opts:     opts,
		t:        newTables(),
		applied:  make(chan struct{}),
		watchers: map[*watcher]struct{}{},
	}
}

// Apply applies the entry at index and returns one result for each of its transactions.
// An error is fatal: this binary cannot follow the log any further and must stop, for
// otherwise it would remember something else than the others.
func (s *Store) Apply(index uint64, data []byte) ([]Result, error) {
	e, err := DecodeEntry(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fatal != nil:
		return nil, s.fatal
	case err != nil:
		return nil, s.stop(fmt.Errorf("apply entry %d: %w", index, err))
	case index <= s.t.index:
		return nil, s.stop(fmt.Errorf("apply entry %d: the state is at %d already", index, s.t.index))
	}
	results, changed, err := s.applyEntry(index, e)
	if err != nil {
		return nil, s.stop(err)
	}
	s.publish(func(w *watcher) { w.tell(index, changed) })
	return results, nil
}

func (s *Store) applyEntry(index uint64, e Entry) ([]Result, []model.Key, error) {
	s.t.index = index
	if e.Time.After(s.t.time) {
		s.t.time = e.Time.UTC()
	}
	var changed []model.Key
	results, headers := make([]Result, len(e.Txns)), make([]Header, len(e.Txns))
	for i, txn := range e.Txns {
		if err := s.serves(s.t.format); err != nil {
			return nil, nil, fmt.Errorf("apply entry %d: %w", index, err)
		}
		var d *draft
		if results[i], d = s.t.apply(txn); d != nil {
			changed = append(changed, d.keys()...)
		}
		headers[i] = s.t.audit(i, len(e.Txns), txn, results[i], s.t.about(txn, d))
	}
	if err := s.serves(s.t.format); err != nil {
		return nil, nil, fmt.Errorf("apply entry %d: %w", index, err)
	}
	if s.opts.Sink != nil {
		s.opts.Sink.Append(headers)
	}
	if s.view.Load() != nil { // who reads does not wait for the next entry
		s.view.Store(s.t.copy())
	}
	return results, changed, nil
}

// serves says whether this store knows the rules of a format.
func (s *Store) serves(format int) error {
	if format < s.opts.Formats[0] || format > s.opts.Formats[1] {
		return fmt.Errorf("state format %d is in force, this binary serves %d to %d: install the version that the other coordinators run",
			format, s.opts.Formats[0], s.opts.Formats[1])
	}
	return nil
}

func (s *Store) stop(err error) error {
	s.fatal = err
	return err
}

// publish wakes those who wait for the state to change.
func (s *Store) publish(tell func(*watcher)) {
	close(s.applied)
	s.applied = make(chan struct{})
	for w := range s.watchers {
		tell(w)
	}
}

// SyncAudit makes the audit trail survive a power loss. Before a snapshot is kept, it
// must: what the snapshot stands for is never replayed.
func (s *Store) SyncAudit() {
	if s.opts.Sink != nil {
		s.opts.Sink.Sync()
	}
}

// View returns the state as it is now.
func (s *Store) View() View {
	if t := s.view.Load(); t != nil {
		return View{t}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.view.Load(); t != nil {
		return View{t}
	}
	t := s.t.copy()
	s.view.Store(t)
	return View{t}
}

// Index is the log index of the last entry applied.
func (s *Store) Index() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.t.index
}

// Hash stands for the whole state: equal on every coordinator at the same index.
func (s *Store) Hash() Hash {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.t.hash()
}

// Wait returns when the entry at index has been applied.
func (s *Store) Wait(ctx context.Context, index uint64) error {
	for {
		s.mu.Lock()
		at, fatal, applied := s.t.index, s.fatal, s.applied
		s.mu.Unlock()
		if at >= index {
			return nil
		}
		if fatal != nil {
			return errors.Join(model.ErrStopped, fatal)
		}
		select {
		case <-applied:
		case <-ctx.Done():
			return fmt.Errorf("wait for log index %d, at %d: %w", index, at, ctx.Err())
		}
	}
}
