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

// hasher writes what is hashed so that no two different things look alike: every part
// has its length in front. kind keeps hashes of different kinds of thing apart.
type hasher struct{ h hash.Hash }

func newHasher(kind string) hasher { return hasher{sha256.New()}.text(kind) }

func (h hasher) number(n uint64) hasher {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	h.h.Write(b[:])
	return h
}

func (h hasher) bytes(b []byte) hasher {
	h.number(uint64(len(b)))
	h.h.Write(b)
	return h
}

func (h hasher) text(s string) hasher { return h.bytes([]byte(s)) }

func (h hasher) sum() (sum Hash) {
	h.h.Sum(sum[:0])
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

func objectHash(key string, rev uint64, value []byte) Hash {
	return newHasher("object").text(key).number(rev).bytes(value).sum()
}

func nodeHash(node string, rev uint64) Hash {
	return newHasher("node").text(node).number(rev).sum()
}

func requestHash(id string, r request) Hash {
	h := newHasher("request").text(id).number(r.Number).bytes(r.Content[:])
	return h.result(r.Result).sum()
}

// result hashes what a result means. Its words are for people and may differ between
// versions.
func (h hasher) result(r Result) hasher {
	h.number(r.Revision)
	if r.Refusal == nil {
		return h.text("")
	}
	return h.text(r.Refusal.Constraint).number(uint64(r.Refusal.Asked)).number(uint64(r.Refusal.Available))
}
