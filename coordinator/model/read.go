package model

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"
)

// A reader reads what a plan wrote: fields in their order, no space between. Of anything
// else it says so, and encoding/json reads that.
type reader struct {
	b  []byte
	at int
}

// fill fills v, which must be blank, from b; false: read it in another way.
func (p *plan) fill(b []byte, v reflect.Value) bool {
	r := reader{b: b}
	return p.read(p, &r, v) && r.at == len(b)
}

func readText(_ *plan, r *reader, v reflect.Value) bool {
	from := r.at
	plain, ok := r.text()
	if !ok {
		return false
	}
	if plain {
		v.SetString(string(r.b[from+1 : r.at-1]))
		return true
	}
	var s string
	if json.Unmarshal(r.b[from:r.at], &s) != nil {
		return false
	}
	v.SetString(s)
	return true
}

func readInt(_ *plan, r *reader, v reflect.Value) bool {
	negative := r.is("-")
	n, ok := r.digits()
	i := int64(n)
	if negative {
		i = -i
	}
	if !ok || v.OverflowInt(i) {
		return false
	}
	v.SetInt(i)
	return true
}

func readUint(_ *plan, r *reader, v reflect.Value) bool {
	n, ok := r.digits()
	if !ok || v.OverflowUint(n) {
		return false
	}
	v.SetUint(n)
	return true
}

func readBool(_ *plan, r *reader, v reflect.Value) bool {
	v.SetBool(r.is("true"))
	return v.Bool() || r.is("false")
}

func readPointer(p *plan, r *reader, v reflect.Value) bool {
	if r.is("null") {
		return true
	}
	v.Set(reflect.New(v.Type().Elem()))
	return p.elem.read(p.elem, r, v.Elem())
}

func readSelf(_ *plan, r *reader, v reflect.Value) bool {
	from := r.at
	if _, ok := r.text(); !ok {
		return false
	}
	self, _ := reflect.TypeAssert[json.Unmarshaler](v.Addr())
	return self.UnmarshalJSON(r.b[from:r.at]) == nil
}

func readRaw(_ *plan, r *reader, v reflect.Value) bool {
	from := r.at
	if !r.skip() || !json.Valid(r.b[from:r.at]) {
		return false
	}
	v.SetBytes(bytes.Clone(r.b[from:r.at]))
	return true
}

func readOther(_ *plan, r *reader, v reflect.Value) bool {
	from := r.at
	return r.skip() && json.Unmarshal(r.b[from:r.at], v.Addr().Interface()) == nil
}

func readStruct(p *plan, r *reader, v reflect.Value) bool {
	if r.next() != '{' {
		return false
	}
	if r.is("}") {
		return true
	}
	for i := 0; ; i++ {
		for i < len(p.fields) && !r.is(p.fields[i].text) {
			i++
		}
		if i == len(p.fields) {
			return false
		}
		if f := &p.fields[i]; !f.plan.read(f.plan, r, f.of(v)) {
			return false
		}
		if end := r.next(); end != ',' {
			return end == '}'
		}
	}
}

func readSlice(p *plan, r *reader, v reflect.Value) bool {
	if r.is("null") {
		return true
	}
	if r.next() != '[' {
		return false
	}
	if r.is("]") {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return true
	}
	for n := 0; ; n++ {
		v.Grow(1)
		v.SetLen(n + 1)
		if !p.elem.read(p.elem, r, v.Index(n)) {
			return false
		}
		if end := r.next(); end != ',' {
			return end == ']'
		}
	}
}

// is goes past word, if that is what comes next.
func (r *reader) is(word string) bool {
	if len(r.b)-r.at < len(word) || string(r.b[r.at:r.at+len(word)]) != word {
		return false
	}
	r.at += len(word)
	return true
}

// next goes past one character and returns it; 0: there is none.
func (r *reader) next() byte {
	if r.at == len(r.b) {
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

// text goes past a text in quotes; plain: it stands there as it is.
func (r *reader) text() (plain, ok bool) {
	if r.next() != '"' {
		return false, false
	}
	from := r.at
	plain, ascii := true, true
	for ; r.at < len(r.b); r.at++ {
		switch c := r.b[r.at]; {
		case c == '"':
			r.at++
			return plain && (ascii || utf8.Valid(r.b[from:r.at-1])), true
		case c == '\\':
			plain = false
			r.at++
		case c < ' ':
			return false, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return false, false
}

const mostDigits = 18 // that certainly fit

// digits reads a whole number; larger ones than anybody needs are left to encoding/json.
func (r *reader) digits() (n uint64, ok bool) {
	from := r.at
	for ; r.at < len(r.b) && '0' <= r.b[r.at] && r.b[r.at] <= '9'; r.at++ {
		n = 10*n + uint64(r.b[r.at]-'0')
	}
	length := r.at - from
	return n, length == 1 || length > 1 && length <= mostDigits && r.b[from] != '0'
}

// skip goes past one value, which need not be a sound one.
func (r *reader) skip() bool {
	depth := 0
	for from := r.at; r.at < len(r.b); {
		switch r.b[r.at] {
		case '"':
			if _, ok := r.text(); !ok {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return r.at > from
			}
		case ',':
			if depth == 0 {
				return r.at > from
			}
		}
		r.at++
	}
	return depth == 0
}
