package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"rvol/coordinator/model"
)

// entryVersion is the first byte of every entry. A binary that meets another stops: it
// must not skip what it does not know.
const entryVersion = 2

// An entry is its version, the time, the number of transactions, and each of them with
// its length in front. Numbers are varints; texts and lists have their length in front.
// It is not JSON, because objects are, and would be read once more for each layer.

// EncodeTxn renders one transaction for EncodeEntry. It refuses what Apply could not
// read back.
func EncodeTxn(t Txn) ([]byte, error) {
	size := 64 + len(t.Cause)
	for _, p := range t.Put {
		size += 64 + len(p.Value)
	}
	w := writer(make([]byte, 0, size))
	for _, s := range []string{t.Cause, t.RequestID, t.RequestHash, t.Actor} {
		w.text(s)
	}
	w.number(uint64(len(t.Expect)))
	for _, k := range t.expected() {
		if k.Kind == "" || k.Name == "" {
			return nil, fmt.Errorf("%w: %q expects key %q: it needs a kind and a name", model.ErrInvalid, t.Cause, k)
		}
		w.key(k)
		w.number(t.Expect[k])
	}
	w.number(uint64(len(t.Put)))
	for _, p := range t.Put {
		w.key(p.Key)
		w.bytes(p.Value)
	}
	w.number(uint64(len(t.Delete)))
	for _, k := range t.Delete {
		w.key(k)
	}
	return w, nil
}

// EncodeEntry renders an entry of transactions that EncodeTxn made.
func EncodeEntry(now time.Time, txns ...[]byte) []byte {
	size := 64
	for _, t := range txns {
		size += len(t) + binary.MaxVarintLen32
	}
	if !sensible(now) {
		now = time.Unix(0, 0) // a clock that nobody can believe; time only goes forward anyway
	}
	w := writer(make([]byte, 0, size))
	w = append(w, entryVersion)
	w = binary.AppendVarint(w, now.Unix())
	w.number(uint64(now.Nanosecond()))
	w.number(uint64(len(txns)))
	for _, t := range txns {
		w.number(uint64(len(t)))
		w = append(w, t...)
	}
	return w
}

// DecodeEntry reads an entry, which shares its bytes with data. Anything it does not know
// is an error: a transaction is applied whole or not at all.
func DecodeEntry(data []byte) (Entry, error) {
	if len(data) == 0 {
		return Entry{}, errors.New("decode entry: it is empty")
	}
	if data[0] != entryVersion {
		return Entry{}, fmt.Errorf("decode entry: version %d, this binary knows %d: another version wrote it", data[0], entryVersion)
	}
	r := reader{b: data[1:]}
	seconds, nanoseconds := r.signed(), r.number()
	e := Entry{Time: time.Unix(seconds, int64(nanoseconds)).UTC(), Txns: make([]Txn, r.count())}
	for i := range e.Txns {
		one := reader{b: r.bytes()}
		e.Txns[i] = one.txn()
		r.broken = r.broken || one.broken || len(one.b) > 0
	}
	if r.broken || len(r.b) > 0 || nanoseconds >= uint64(time.Second) || !sensible(e.Time) {
		return Entry{}, errors.New("decode entry: it makes no sense: it is damaged")
	}
	return e, nil
}

// sensible says that a time can be written down in JSON, as snapshots do.
func sensible(t time.Time) bool { return t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 }

type writer []byte

func (w *writer) number(n uint64) { *w = binary.AppendUvarint(*w, n) }

func (w *writer) bytes(b []byte) {
	w.number(uint64(len(b)))
	*w = append(*w, b...)
}

// text writes what the audit trail, which is JSON, can give back.
func (w *writer) text(s string) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	w.number(uint64(len(s)))
	*w = append(*w, s...)
}

func (w *writer) key(k model.Key) {
	w.text(string(k.Kind))
	w.text(k.Name)
}

// A reader reads what a writer wrote, until something makes no sense.
type reader struct {
	b      []byte
	broken bool
}

func (r *reader) took(n int) {
	if n <= 0 {
		r.b, r.broken = nil, true
		return
	}
	r.b = r.b[n:]
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	r.took(n)
	return v
}

func (r *reader) signed() int64 {
	v, n := binary.Varint(r.b)
	r.took(n)
	return v
}

// count is how many things follow: at least a byte each.
func (r *reader) count() int {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.b, r.broken = nil, true
		return 0
	}
	return int(n)
}

func (r *reader) bytes() []byte {
	n := r.count()
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) key() model.Key {
	return model.Key{Kind: model.Kind(r.bytes()), Name: string(r.bytes())}
}

func (r *reader) txn() Txn {
	t := Txn{Cause: string(r.bytes()), RequestID: string(r.bytes()), RequestHash: string(r.bytes()), Actor: string(r.bytes())}
	if n := r.count(); n > 0 {
		t.Expect = make(map[model.Key]uint64, n)
		for range n {
			k := r.key()
			t.Expect[k] = r.number()
		}
	}
	if n := r.count(); n > 0 {
		t.Put = make([]Put, n)
		for i := range t.Put {
			t.Put[i] = Put{Key: r.key(), Value: r.bytes()}
		}
	}
	if n := r.count(); n > 0 {
		t.Delete = make([]model.Key, n)
		for i := range t.Delete {
			t.Delete[i] = r.key()
		}
	}
	return t
}
