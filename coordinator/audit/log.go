package audit

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"

	"rvol/coordinator/state"
)

// Config says where the trail is and how much of it is kept.
type Config struct {
	Dir          string // made 0700
	SegmentBytes int64  // size at which a new file is begun; zero: 16 MiB
	KeepBytes    int64  // size of all files above which the oldest go; zero: 1 GiB
	Logger       *slog.Logger
}

// A Log is a trail of headers in files. It is a state.Sink.
type Log struct {
	cfg Config

	mu       sync.Mutex
	segments []segment // oldest first; the last is written to
	file     *os.File  // of the last segment; nil: the next header begins a new one
	last     state.Header
	grown    chan struct{} // closed and replaced when a header was written
}

var _ state.Sink = (*Log)(nil)

// Open opens the trail in a directory, or begins one. What a crash left half written is
// cut off.
func Open(cfg Config) (*Log, error) {
	if cfg.SegmentBytes == 0 {
		cfg.SegmentBytes = 16 << 20
	}
	if cfg.KeepBytes == 0 {
		cfg.KeepBytes = 1 << 30
	}
	l := &Log{cfg: cfg, grown: make(chan struct{})}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open audit trail: %w", err)
	}
	var err error
	if l.segments, err = listSegments(cfg.Dir); err != nil {
		return nil, fmt.Errorf("open audit trail: %w", err)
	}
	if err := l.resume(); err != nil {
		return nil, fmt.Errorf("open audit trail: %w", err)
	}
	return l, nil
}

// resume makes ready to go on at the end of the newest segment.
func (l *Log) resume() error {
	for len(l.segments) > 0 {
		s := l.newest()
		last, err := s.verify(nil)
		if err != nil && !errors.Is(err, errTorn) {
			// It stays, for whoever wants to know; the trail begins anew behind it.
			l.cfg.Logger.Error("audit trail is damaged and begins anew", "err", err)
			l.last = state.Header{Index: max(last.Index, s.first), Number: math.MaxInt - 1}
			return nil
		}
		if err := l.cut(); err != nil {
			return err
		}
		if s.lines > 0 {
			l.last = last
			l.file, err = os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND, 0o600)
			return err
		}
	}
	return nil
}

// cut takes what is not a whole line off the newest segment, or an empty one away.
func (l *Log) cut() error {
	s := l.newest()
	if s.size > 0 {
		return os.Truncate(s.path, s.size)
	}
	l.segments = l.segments[:len(l.segments)-1]
	return os.Remove(s.path)
}

func (l *Log) newest() *segment { return &l.segments[len(l.segments)-1] }

// Append writes the headers of one entry. Those that are here already, as after a
// restart, are passed over; ones that do not follow the last begin the trail anew.
func (l *Log) Append(entry []state.Header) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(entry) > 0 && l.has(entry[0]) {
		entry = entry[1:]
	}
	if len(entry) == 0 {
		return
	}
	if err := l.write(entry); err != nil {
		l.cfg.Logger.Error("audit trail was not written and will have a gap", "err", err)
		l.shut()
	}
}

// has says that h is not newer than what was written.
func (l *Log) has(h state.Header) bool {
	return h.Index < l.last.Index || h.Index == l.last.Index && h.Number <= l.last.Number
}

func (l *Log) write(entry []state.Header) error {
	lines, lengths, err := encode(entry)
	if err != nil {
		return err
	}
	first := entry[0]
	joins := gap
	if l.file != nil && first.Previous == l.last.Hash {
		joins = follows
	}
	full := l.file != nil && l.newest().size+int64(len(lines)) > l.cfg.SegmentBytes
	switch {
	case first.Number > 0 && joins == gap:
		return nil // an entry is never cut in two: the trail begins anew with the next
	case first.Number == 0 && full, joins == gap:
		if err := l.begin(newSegment(l.cfg.Dir, first, joins)); err != nil {
			return err
		}
	}
	if _, err := l.file.Write(lines); err != nil {
		return err
	}
	for i, h := range entry {
		l.newest().grew(h, lengths[i])
		l.last = h
	}
	close(l.grown)
	l.grown = make(chan struct{})
	return nil
}

// begin makes s the segment that is written to, and drops the oldest ones.
func (l *Log) begin(s segment) error {
	if l.file != nil {
		if err := errors.Join(l.file.Sync(), l.file.Close()); err != nil {
			return err
		}
		l.file = nil
	}
	file, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	l.file = file
	l.segments = append(l.segments, s)
	return l.drop()
}

func (l *Log) drop() error {
	var total int64
	for _, s := range l.segments {
		total += s.size
	}
	for len(l.segments) > 1 && total > l.cfg.KeepBytes {
		if err := os.Remove(l.segments[0].path); err != nil {
			return err
		}
		total -= l.segments[0].size
		l.segments = l.segments[1:]
	}
	return nil
}

// shut gives the file up after a failed write.
func (l *Log) shut() {
	if l.file == nil {
		return
	}
	err := errors.Join(l.file.Close(), l.cut())
	l.file = nil
	if err != nil {
		l.cfg.Logger.Error("audit trail was not tidied after a failed write", "err", err)
	}
}

// Sync makes what was written survive a power loss.
func (l *Log) Sync() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return
	}
	if err := l.file.Sync(); err != nil {
		l.cfg.Logger.Error("audit trail was not synced and will have a gap", "err", err)
		l.shut()
	}
}

// Close ends the trail for now.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Sync(), l.file.Close())
	l.file = nil
	return err
}
