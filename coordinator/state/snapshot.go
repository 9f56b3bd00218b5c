package state

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
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
	row []byte // of the object at hand
	sum hash.Hash
	err error // the first
}

func (w *snapshotWriter) write(b []byte) {
	if w.err == nil {
		_, w.err = w.buf.Write(b)
	}
}

func (w *snapshotWriter) record(sort byte, b []byte) {
	var front [1 + binary.MaxVarintLen64]byte
	front[0] = sort
	n := binary.PutUvarint(front[1:], uint64(len(b)))
	w.write(front[:1+n])
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
	b := binary.AppendUvarint(w.row[:0], o.Info().Revision)
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = append(b, key...)
	w.row = model.AppendRaw(b, o)
	w.record(recordObject, w.row)
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
