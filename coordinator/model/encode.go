package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
)

// Encode renders o as the bytes to propose. Fields that o was read with but that
// this binary does not know are written back unchanged.
func Encode(o Object) ([]byte, error) {
	size := usual
	if d, ok := o.(*Decision); ok {
		size += len(d.Replicas)
	}
	p, b, err := write(o, make([]byte, 0, size))
	if raw := o.Info().raw; err == nil && raw != nil {
		b, err = keepUnknown(raw, b, p)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Key(), err)
	}
	return b, nil
}

// write appends what o holds.
func write(o Object, b []byte) (*plan, []byte, error) {
	v := reflect.ValueOf(o).Elem()
	p := plans[v.Type()]
	b, err := p.write(p, b, v)
	return p, b, err
}

// Decode reads the bytes of an object of kind k that last changed at revision rev.
// Unknown fields are kept for Encode; an unknown kind is an error.
func Decode(k Kind, raw []byte, rev uint64) (Object, error) {
	return new(Decoder).Decode(k, raw, rev)
}

// A Decoder decodes one object after the other as Decode does, with less garbage.
type Decoder struct{ again []byte }

// Decode is the function Decode.
func (d *Decoder) Decode(k Kind, raw []byte, rev uint64) (Object, error) {
	o, err := d.decode(k, raw, rev)
	if err == nil {
		shareWords(o)
	}
	return o, err
}

func (d *Decoder) decode(k Kind, raw []byte, rev uint64) (Object, error) {
	o := New(k)
	if o == nil {
		return nil, fmt.Errorf("decode %s: this binary does not know that kind", k)
	}
	v := reflect.ValueOf(o).Elem()
	if !plans[v.Type()].fill(raw, v) {
		v.SetZero()
		if err := json.Unmarshal(raw, o); err != nil {
			return nil, fmt.Errorf("decode %s: %w", k, err)
		}
	}
	m := o.Info()
	m.Revision, m.stored = rev, crc32.Checksum(raw, castagnoli)
	_, again, err := write(o, slices.Grow(d.again[:0], len(raw)+spare))
	if err != nil || !bytes.Equal(again, raw) {
		m.raw = bytes.Clone(raw)
	}
	d.again = again
	return o, nil
}

const (
	usual = 512 // bytes of an object
	spare = 64  // what encoding may take more than it keeps
)

// castagnoli is the polynomial that processors know.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Raw is the bytes that o was decoded from: what was proposed, unknown fields included.
// They must not be changed. Where o alone tells what they were they are made anew, and it
// is proven that they are the same: an object that somebody changed in the view stops
// the process, rather than that coordinators remember different things.
func Raw(o Object) []byte {
	if raw := o.Info().raw; raw != nil {
		return raw
	}
	return AppendRaw(make([]byte, 0, usual), o)
}

// AppendRaw appends what Raw returns.
func AppendRaw(b []byte, o Object) []byte {
	m, from := o.Info(), len(b)
	if m.raw != nil {
		return append(b, m.raw...)
	}
	_, b, err := write(o, b)
	if err != nil || m.stored != 0 && m.stored != crc32.Checksum(b[from:], castagnoli) {
		panic(fmt.Sprintf("%s was changed in the view: take a model.Clone first", o.Key()))
	}
	return b
}

// Clone copies o deeply, so that the copy may be changed and proposed.
func Clone[T Object](o T) T {
	b, err := Encode(o)
	if err != nil {
		panic(err) // only a programming error makes one of our own structs unencodable
	}
	c, err := new(Decoder).decode(o.Key().Kind, b, o.Info().Revision)
	if err != nil {
		panic(err)
	}
	return any(c).(T)
}

// keepUnknown returns now with those fields of old added that p does not declare.
func keepUnknown(old, now []byte, p *plan) ([]byte, error) {
	for p.elem != nil { // of a pointer; a list is no object
		p = p.elem
	}
	if p.fields == nil || !isObject(old) || !isObject(now) {
		return now, nil
	}
	var was, is map[string]json.RawMessage
	if err := json.Unmarshal(old, &was); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(now, &is); err != nil {
		return nil, err
	}
	changed, err := merge(was, is, p)
	if err != nil || !changed {
		return now, err
	}
	return json.Marshal(is) // maps are written sorted: the same bytes everywhere
}

// merge puts into is what was has and p lacks, at every depth.
func merge(was, is map[string]json.RawMessage, p *plan) (changed bool, err error) {
	for name, value := range was {
		switch field := p.field(name); {
		case field == nil:
			is[name], changed = value, true
		case is[name] != nil:
			kept, err := keepUnknown(value, is[name], field)
			if err != nil {
				return false, err
			}
			if !bytes.Equal(kept, is[name]) {
				is[name], changed = kept, true
			}
		}
	}
	return changed, nil
}

func isObject(b []byte) bool { return len(b) > 0 && b[0] == '{' }
