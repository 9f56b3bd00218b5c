package model

import (
	"encoding/json"
	"reflect"
	"strconv"
)

// write appends v as JSON: the bytes that encoding/json makes.
func (p *plan) write(b []byte, v reflect.Value) ([]byte, error) {
	switch p.op {
	case opString:
		return writeString(b, v.String()), nil
	case opInt:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case opUint:
		return strconv.AppendUint(b, v.Uint(), 10), nil
	case opBool:
		return strconv.AppendBool(b, v.Bool()), nil
	case opStruct:
		return p.writeStruct(b, v)
	case opSlice:
		return p.writeSlice(b, v)
	case opPointer:
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return p.elem.write(b, v.Elem())
	case opSelf:
		self, _ := reflect.TypeAssert[appendText](v.Addr())
		b, err := self.AppendText(append(b, '"'))
		return append(b, '"'), err
	case opRaw:
		if v.Len() > 0 {
			return append(b, v.Bytes()...), nil
		}
		return append(b, "null"...), nil
	case opOther:
	}
	other, err := json.Marshal(v.Interface())
	return append(b, other...), err
}

func (p *plan) writeStruct(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '{')
	first := len(b)
	for i := range p.fields {
		f := &p.fields[i]
		value := f.of(v)
		if f.omits(value) {
			continue
		}
		if len(b) > first {
			b = append(b, ',')
		}
		var err error
		if b, err = f.plan.write(append(b, f.text...), value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func (f *planField) omits(v reflect.Value) bool {
	switch f.omit {
	case omitEmpty:
		return isEmpty(v)
	case omitZero:
		if f.plan.zeroer {
			z, _ := reflect.TypeAssert[interface{ IsZero() bool }](v.Addr())
			return z.IsZero()
		}
		return v.IsZero()
	default:
		return false
	}
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

func (p *plan) writeSlice(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = p.elem.write(b, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// writeString appends s in quotes. What needs more than that is left to encoding/json.
func writeString(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			quoted, _ := json.Marshal(s) // a text can always be written
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
