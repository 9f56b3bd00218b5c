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
	"time"

	"rvol/coordinator/model"
)

// A snapshot is a stream of records: magic, head, rows, trailer. A record is a byte for
// its sort, its length as a varint, and that many bytes. The trailer is the SHA-256 of
// everything before it.
const (
	snapshotMagic   = "rvol-state\n"
	snapshotVersion = 1

	recordHead    = 'h'
	recordObject  = 'o' // revision as a varint, length of the key as a varint, key, bytes as proposed
	recordNode    = 'n' // revision as a varint, node
	recordRequest = 'r' // JSON
	recordTrailer = 'z'

	maxRecord = 1 << 26 // bytes
)

// SnapshotHead is the first record of a snapshot: what it is, for people and for Restore.
type SnapshotHead struct {
	Version  int       `json:"version"` // of the stream; a binary that meets another refuses it
	Format   int       `json:"format"`  // of the state
	Index    uint64    `json:"index"`
	Time     time.Time `json:"time"`
	Chain    Hash      `json:"chain"`
	AllNodes uint64    `json:"all_nodes"`
	NextReq  uint64    `json:"next_request"`
	Objects  int       `json:"objects"`
	Hash     Hash      `json:"hash"` // of the state
}

// WriteTo streams the view as a snapshot. It holds secrets: keep it where only the
// coordinator can read it.
func (v View) WriteTo(to io.Writer) (int64, error) {
	w := &snapshotWriter{sum: sha256.New()}
	count := &counter{w: to}
	w.buf = bufio.NewWriterSize(io.MultiWriter(count, w.sum), 1<<16)
	w.write([]byte(snapshotMagic))
	w.json(recordHead, v.t.snapshotHead())
	v.t.objects.Scan(func(key string, o model.Object) bool {
		w.object(key, o)
		return w.err == nil
	})
	v.t.nodes.Scan(func(node string, rev uint64) bool {
		w.record(recordNode, append(binary.AppendUvarint(nil, rev), node...))
		return w.err == nil
	})
	v.t.queue.Scan(func(_ uint64, id string) bool {
		r, _ := v.t.requests.Get(id)
		w.json(recordRequest, requestRecord{ID: id, request: r})
		return w.err == nil
	})
	err := w.finish(count)
	return count.n, err
}

// SnapshotHead is the head of the snapshot that WriteTo writes.
func (v View) SnapshotHead() SnapshotHead { return v.t.snapshotHead() }

func (t *tables) snapshotHead() SnapshotHead {
	return SnapshotHead{
		Version: snapshotVersion, Format: t.format, Index: t.index, Time: t.time, Chain: t.chain,
		AllNodes: t.allNodes, NextReq: t.nextReq, Objects: t.objects.Len(), Hash: t.hash(),
	}
}

type requestRecord struct {
	ID string `json:"id"`
	request
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

type snapshotWriter struct {
	buf *bufio.Writer
	sum hash.Hash
	err error // the first
}

func (w *snapshotWriter) write(b []byte) {
	if w.err == nil {
		_, w.err = w.buf.Write(b)
	}
}

func (w *snapshotWriter) record(sort byte, b []byte) {
	w.write(binary.AppendUvarint([]byte{sort}, uint64(len(b))))
	w.write(b)
}

func (w *snapshotWriter) json(sort byte, v any) {
	b, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.record(sort, b)
}

func (w *snapshotWriter) object(key string, o model.Object) {
	b := binary.AppendUvarint(nil, o.Info().Revision)
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = append(b, key...)
	w.record(recordObject, append(b, model.Raw(o)...))
}

func (w *snapshotWriter) finish(to io.Writer) error {
	if w.err == nil {
		w.err = w.buf.Flush()
	}
	if w.err == nil {
		w.buf.Reset(to)
		w.record(recordTrailer, w.sum.Sum(nil))
	}
	if w.err == nil {
		w.err = w.buf.Flush()
	}
	if w.err != nil {
		return fmt.Errorf("write snapshot: %w", w.err)
	}
	return nil
}

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
	r := &snapshotReader{serves: serves, buf: bufio.NewReaderSize(from, 1<<16), sum: sha256.New(), t: newTables()}
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

type snapshotReader struct {
	buf  *bufio.Reader
	sum  hash.Hash
	t    *tables
	head *SnapshotHead

	serves func(format int) error
}

// next reads one record, and adds it to the sum unless it is the trailer.
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
	var data bytes.Buffer // grows with what is there, not with what is claimed
	if _, err := io.CopyN(&data, r.buf, int64(n)); err != nil {
		return 0, nil, cut(err)
	}
	if sort != recordTrailer {
		r.sum.Write(binary.AppendUvarint([]byte{sort}, n))
		r.sum.Write(data.Bytes())
	}
	return sort, data.Bytes(), nil
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
	var k model.Key
	if err := k.UnmarshalText(b[:length]); err != nil {
		return err
	}
	o, err := model.Decode(k.Kind, b[length:], rev)
	if err != nil {
		return err
	}
	if o.Key() != k {
		return fmt.Errorf("%s stands in the place of %s: it is damaged", o.Key(), k)
	}
	r.t.insert(k.String(), o)
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
	if _, err := r.buf.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind its end")
	}
	return nil
}
