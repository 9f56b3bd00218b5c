package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rvol/coordinator/state"
)

// A segment is one file of headers, a line of JSON each. Its name is the index of its
// first header and how that one joins what came before.
type segment struct {
	path  string
	first uint64 // index of its first header
	joins string // one of the endings below
	size  int64  // bytes of whole lines
	lines int    // in size, where that is known
	marks []mark // where to begin reading; none: at the start
}

// mark is the place of one entry's first header. There is one every markEvery bytes.
type mark struct {
	index  uint64
	offset int64
}

const markEvery = 1 << 16

// The endings of segments' names.
const (
	follows = ".jsonl"
	gap     = "-gap.jsonl"    // something is missing before it
	origin  = "-origin.jsonl" // nothing is: it begins with the first transaction of the cluster
)

const digits = 20 // of the index in a segment's name

func newSegment(dir string, h state.Header, joins string) segment {
	if h.Previous == (state.Hash{}) {
		joins = origin
	}
	return segment{path: filepath.Join(dir, fmt.Sprintf("%0*d%s", digits, h.Index, joins)), first: h.Index, joins: joins}
}

// listSegments lists the segments in dir, oldest first.
func listSegments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []segment
	for _, e := range entries {
		name := e.Name()
		if len(name) < digits {
			continue
		}
		first, err := strconv.ParseUint(name[:digits], 10, 64)
		joins := name[digits:]
		if err != nil || !slices.Contains([]string{follows, gap, origin}, joins) {
			continue // not ours
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		all = append(all, segment{path: filepath.Join(dir, name), first: first, joins: joins, size: info.Size()})
	}
	slices.SortFunc(all, func(a, b segment) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// contiguous is the newest run of segments with nothing missing between them.
func contiguous(all []segment) []segment {
	for i := len(all) - 1; i > 0; i-- {
		if all[i].joins != follows {
			return slices.Clone(all[i:])
		}
	}
	return slices.Clone(all)
}

// encode renders headers as lines, and says how long each is.
func encode(entry []state.Header) (lines []byte, lengths []int64, err error) {
	for _, h := range entry {
		b, err := json.Marshal(h)
		if err != nil {
			return nil, nil, err
		}
		lines = append(append(lines, b...), '\n')
		lengths = append(lengths, int64(len(b)+1))
	}
	return lines, lengths, nil
}

// grew counts a line of n bytes that was added for h.
func (s *segment) grew(h state.Header, n int64) {
	if h.Number == 0 && s.size >= markEvery*int64(len(s.marks)+1) {
		s.marks = append(s.marks, mark{h.Index, s.size})
	}
	s.size += n
	s.lines++
}

// startOf is a place at or before the entry at index.
func (s segment) startOf(index uint64) (offset int64) {
	for _, m := range s.marks {
		if m.index <= index {
			offset = m.offset
		}
	}
	return offset
}

var (
	errTorn = errors.New("the last line was not written to its end")
	errDone = errors.New("enough") // ends a scan
)

// scan hands out the headers from offset on, each with the length of its line, until
// take returns an error.
func (s segment) scan(offset int64, take func(h state.Header, n int64) error) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	lines := bufio.NewReaderSize(io.NewSectionReader(f, offset, s.size-offset), 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil
		case errors.Is(err, io.EOF):
			return errTorn
		case err != nil:
			return err
		}
		var h state.Header
		if err := json.Unmarshal(line, &h); err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
		if err := take(h, int64(len(line))); err != nil {
			return err
		}
	}
}

// verify proves that every header is what was written and follows the one before, and
// returns the last. It counts the whole lines into s. When previous is not nil the first
// header must follow it.
func (s *segment) verify(previous *state.Header) (last state.Header, err error) {
	whole := *s
	s.size, s.lines, s.marks = 0, 0, nil
	err = whole.scan(0, func(h state.Header, n int64) error {
		if h.Sum() != h.Hash || previous != nil && h.Previous != previous.Hash {
			return fmt.Errorf("%s: the header of transaction %d at index %d was altered, or one before it is missing", s.path, h.Number, h.Index)
		}
		s.grew(h, n)
		last, previous = h, &h
		return nil
	})
	return last, err
}
