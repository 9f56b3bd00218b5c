package state

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"rvol/coordinator/model"
)

// Restore replaces the whole state by a snapshot. One that is cut short, altered, or of
// a format that this binary does not serve is refused and nothing is changed.
func (s *Store) Restore(from io.Reader) error {
	t, err := readSnapshot(from, s.serves)
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.Store(nil)
	s.t = t
	s.publish(func(w *watcher) { w.tellAll(t.index) })
	return nil
}

// InspectSnapshot reads a whole snapshot, proves that it is intact and returns its head.
func InspectSnapshot(from io.Reader) (SnapshotHead, error) {
	t, err := readSnapshot(from, NewStore(Options{}).serves)
	if err != nil {
		return SnapshotHead{}, fmt.Errorf("read snapshot: %w", err)
	}
	return t.snapshotHead(), nil
}

func readSnapshot(from io.Reader, serves func(format int) error) (*tables, error) {
	r := &snapshotReader{serves: serves, buf: bufio.NewReaderSize(from, readAhead), sum: sha256.New(), t: newTables()}
	magic := make([]byte, len(snapshotMagic))
	if _, err := io.ReadFull(r.buf, magic); err != nil || string(magic) != snapshotMagic {
		return nil, errors.New("this is not a snapshot of rvol's state")
	}
	r.sum.Write(magic)
	for {
		sort, b, err := r.next()
		if err != nil {
			return nil, err
		}
		if sort == recordTrailer {
			return r.t, r.finish(b)
		}
		if err := r.take(sort, b); err != nil {
			return nil, err
		}
	}
}

const readAhead = 1 << 16 // bytes

type snapshotReader struct {
	buf  *bufio.Reader
	sum  hash.Hash
	t    *tables
	head *SnapshotHead
	row  []byte // the record at hand

	serves func(format int) error
}

// next reads one record, and adds it to the sum unless it is the trailer. What it returns
// holds until it is called again.
func (r *snapshotReader) next() (sort byte, b []byte, err error) {
	if sort, err = r.buf.ReadByte(); err != nil {
		return 0, nil, cut(err)
	}
	n, err := binary.ReadUvarint(r.buf)
	if err != nil {
		return 0, nil, cut(err)
	}
	if n > maxRecord {
		return 0, nil, fmt.Errorf("a record of %d bytes: it is damaged", n)
	}
	r.row = binary.AppendUvarint(append(r.row[:0], sort), n)
	front := len(r.row)
	for left := int(n); left > 0; { // it grows with what is there, not with what is claimed
		from, some := len(r.row), min(left, readAhead)
		r.row = slices.Grow(r.row, some)[:from+some]
		if _, err := io.ReadFull(r.buf, r.row[from:]); err != nil {
			return 0, nil, cut(err)
		}
		left -= some
	}
	if sort != recordTrailer {
		r.sum.Write(r.row)
	}
	return sort, r.row[front:], nil
}

func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut short")
	}
	return err
}

func (r *snapshotReader) take(sort byte, b []byte) error {
	if (sort == recordHead) != (r.head == nil) {
		return errors.New("its records are out of order: it is damaged")
	}
	switch sort {
	case recordHead:
		return r.takeHead(b)
	case recordObject:
		return r.takeObject(b)
	case recordNode:
		rev, n := binary.Uvarint(b)
		if n <= 0 {
			return errors.New("a node's record makes no sense: it is damaged")
		}
		r.t.setNode(string(b[n:]), rev)
		return nil
	case recordRequest:
		var q requestRecord
		if err := json.Unmarshal(b, &q); err != nil {
			return fmt.Errorf("a request's record: %w", err)
		}
		r.t.keep(q.ID, q.request)
		return nil
	default:
		return fmt.Errorf("a record of sort %q, which this binary does not know", sort)
	}
}

func (r *snapshotReader) takeHead(b []byte) error {
	var h SnapshotHead
	if err := json.Unmarshal(b, &h); err != nil {
		return fmt.Errorf("its head: %w", err)
	}
	if h.Version != snapshotVersion {
		return fmt.Errorf("version %d, this binary reads %d", h.Version, snapshotVersion)
	}
	r.head = &h
	r.t.head = head{
		index: h.Index, time: h.Time.UTC(), format: h.Format, chain: h.Chain,
		allNodes: h.AllNodes, nextReq: h.NextReq,
	}
	return r.serves(h.Format)
}

func (r *snapshotReader) takeObject(b []byte) error {
	rev, n := binary.Uvarint(b)
	if n <= 0 {
		return errors.New("an object's record makes no sense: it is damaged")
	}
	length, m := binary.Uvarint(b[n:])
	if m <= 0 || length > uint64(len(b)-n-m) {
		return errors.New("an object's record makes no sense: it is damaged")
	}
	b = b[n+m:]
	key := string(b[:length])
	kind, name, _ := strings.Cut(key, "/")
	o, err := r.t.writing.decoder.Decode(model.Kind(kind), b[length:], rev)
	if err != nil {
		return err
	}
	if k := o.Key(); string(k.Kind) != kind || k.Name != name || name == "" {
		return fmt.Errorf("%s stands in the place of %s: it is damaged", k, key)
	}
	r.t.enter(key, o, b[length:])
	r.t.objects.Load(key, o) // they come in order
	return nil
}

func (r *snapshotReader) finish(trailer []byte) error {
	switch {
	case r.head == nil:
		return errors.New("it has no head: it is damaged")
	case !bytes.Equal(trailer, r.sum.Sum(nil)):
		return errors.New("its checksum is wrong: it is damaged")
	case r.t.hash() != r.head.Hash:
		return fmt.Errorf("its contents have the hash %s, its head says %s", r.t.hash(), r.head.Hash)
	}
	r.t.quotas = r.t.countQuotas()
	if _, err := r.buf.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind its end")
	}
	return nil
}
