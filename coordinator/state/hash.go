package state

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
)

// Hash is a SHA-256. It reads and writes itself as hexadecimal text.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText renders h in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(b []byte) error {
	if n, err := hex.Decode(h[:], b[:min(len(b), 2*len(h))]); err != nil || n != len(h) || len(b) != 2*len(h) {
		return fmt.Errorf("read hash %q: want %d hexadecimal digits", b, 2*len(h))
	}
	return nil
}

// A hasher writes what is hashed so that no two different things look alike: every part
// has its length in front. kind keeps hashes of different kinds of thing apart.
type hasher struct {
	h hash.Hash
	b []byte // what is written next
}

func newHasher(kind string) *hasher { return (&hasher{h: sha256.New()}).begin(kind) }

// begin starts another hash.
func (h *hasher) begin(kind string) *hasher {
	h.h.Reset()
	return h.text(kind)
}

func (h *hasher) number(n uint64) *hasher {
	h.b = binary.BigEndian.AppendUint64(h.b[:0], n)
	h.h.Write(h.b)
	return h
}

func (h *hasher) bytes(b []byte) *hasher {
	h.number(uint64(len(b))).h.Write(b)
	return h
}

func (h *hasher) text(s string) *hasher {
	h.b = append(binary.BigEndian.AppendUint64(h.b[:0], uint64(len(s))), s...)
	h.h.Write(h.b)
	return h
}

func (h *hasher) sum() (sum Hash) {
	h.b = h.h.Sum(h.b[:0])
	copy(sum[:], h.b)
	return sum
}

// A digest stands for a set of hashes and is kept up to date row by row: it is their
// sum, lane by lane. Order does not matter.
type digest [4]uint64

func (d *digest) add(h Hash) {
	for i := range d {
		d[i] += binary.BigEndian.Uint64(h[8*i:])
	}
}

func (d *digest) remove(h Hash) {
	for i := range d {
		d[i] -= binary.BigEndian.Uint64(h[8*i:])
	}
}

// hash stands for everything in the tables.
func (t *tables) hash() Hash {
	h := newHasher("state").number(t.index).number(uint64(t.time.UnixNano())).number(uint64(t.format))
	h.bytes(t.chain[:]).number(t.allNodes).number(t.nextReq)
	for _, lane := range t.sum {
		h.number(lane)
	}
	return h.sum()
}

func (t *tables) objectHash(key string, rev uint64, value []byte) Hash {
	return t.writing.hasher.begin("object").text(key).number(rev).bytes(value).sum()
}

func (t *tables) nodeHash(node string, rev uint64) Hash {
	return t.writing.hasher.begin("node").text(node).number(rev).sum()
}

func requestHash(id string, r request) Hash {
	h := newHasher("request").text(id).number(r.Number).bytes(r.Content[:])
	return h.result(r.Result).sum()
}

// result hashes what a result means. Its words are for people and may differ between
// versions.
func (h *hasher) result(r Result) *hasher {
	h.number(r.Revision)
	if r.Refusal == nil {
		return h.text("")
	}
	return h.text(r.Refusal.Constraint).number(uint64(r.Refusal.Asked)).number(uint64(r.Refusal.Available))
}
