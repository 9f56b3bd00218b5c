package audit

import (
	"errors"
	"fmt"

	"rvol/coordinator/state"
)

// Report is what Verify found.
type Report struct {
	Headers int
	First   uint64     // index of the oldest header that is here
	Last    uint64     // index of the newest
	Chain   state.Hash // of the newest: equal to the chain head of the state at that index
	Gaps    []uint64   // indexes before which something is missing
}

// Verify is the function Verify, of the trail that is being written.
func (l *Log) Verify() (Report, error) { return Verify(l.cfg.Dir) }

// Verify reads the whole trail in a directory and proves that no header was altered,
// removed or put in between. A trail that is being written to may end in half a line.
func Verify(dir string) (Report, error) {
	var r Report
	segments, err := listSegments(dir)
	if err != nil {
		return r, fmt.Errorf("verify audit trail: %w", err)
	}
	var previous *state.Header
	for i, s := range segments {
		if s.joins != follows {
			previous = nil
			if s.joins == gap {
				r.Gaps = append(r.Gaps, s.first)
			}
		}
		if i == 0 {
			r.First = s.first
		}
		last, err := s.verify(previous)
		if err != nil && (i < len(segments)-1 || !errors.Is(err, errTorn)) {
			return r, fmt.Errorf("verify audit trail: %w", err)
		}
		if r.Headers += s.lines; s.lines > 0 {
			r.Last, r.Chain, previous = last.Index, last.Hash, &last
		}
	}
	return r, nil
}
