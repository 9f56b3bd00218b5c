package audit

import (
	"context"
	"errors"
	"fmt"
	"os"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// First is the oldest index that Read goes back to without ErrCompacted; 0: as far as
// there ever was anything.
func (l *Log) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if readable := contiguous(l.segments); len(readable) > 0 && readable[0].joins != origin {
		return readable[0].first
	}
	return 0
}

// Last is the index of the newest entry in the trail.
func (l *Log) Last() uint64 {
	last, _ := l.whole()
	return last
}

// whole returns the index of the newest entry that is here to its end, and a channel
// that is closed when there is more.
func (l *Log) whole() (uint64, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last.Number+1 < l.last.Of {
		return l.last.Index - 1, l.grown
	}
	return l.last.Index, l.grown
}

// Wait returns when the trail has an entry with an index above after.
func (l *Log) Wait(ctx context.Context, after uint64) error {
	for {
		last, grown := l.whole()
		if last > after {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Read returns the headers of entries from index from on, oldest first: about limit of
// them, since an entry is never cut in two. To go on, ask from the last index + 1.
// Where the trail does not go back that far it fails with model.ErrCompacted.
func (l *Log) Read(from uint64, limit int) ([]state.Header, error) {
	l.mu.Lock()
	readable := contiguous(l.segments)
	l.mu.Unlock()
	if len(readable) == 0 {
		return nil, nil
	}
	begins := readable[0].first
	if from < begins && readable[0].joins != origin {
		return nil, fmt.Errorf("read audit trail from index %d: %w: it begins at %d", from, model.ErrCompacted, begins)
	}
	all, err := l.collect(readable, from, limit)
	if errors.Is(err, os.ErrNotExist) { // dropped meanwhile
		err = model.ErrCompacted
	}
	if err != nil {
		return nil, fmt.Errorf("read audit trail from index %d: %w", from, err)
	}
	return all, nil
}

func (l *Log) collect(readable []segment, from uint64, limit int) ([]state.Header, error) {
	last, _ := l.whole()
	var all []state.Header
	for i, s := range readable {
		if i+1 < len(readable) && readable[i+1].first <= from {
			continue
		}
		err := s.scan(s.startOf(from), func(h state.Header, _ int64) error {
			if len(all) >= limit && h.Number == 0 || h.Index > last {
				return errDone
			}
			if h.Index >= from {
				all = append(all, h)
			}
			return nil
		})
		if errors.Is(err, errDone) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
