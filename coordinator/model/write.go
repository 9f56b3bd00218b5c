package model

import (
	"encoding/json"
	"reflect"
	"strconv"
)

func writeText(_ *plan, b []byte, v reflect.Value) ([]byte, error) {
	return writeString(b, v.String()), nil
}

func writeInt(_ *plan, b []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendInt(b, v.Int(), 10), nil
}

func writeUint(_ *plan, b []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendUint(b, v.Uint(), 10), nil
}

func writeBool(_ *plan, b []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendBool(b, v.Bool()), nil
}

func writePointer(p *plan, b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	return p.elem.write(p.elem, b, v.Elem())
}

// writeSelf lets a value write itself as a text.
func writeSelf(_ *plan, b []byte, v reflect.Value) ([]byte, error) {
	self, _ := reflect.TypeAssert[appendText](v.Addr())
	b, err := self.AppendText(append(b, '"'))
	return append(b, '"'), err
}

// writeRaw writes what is JSON already.
func writeRaw(_ *plan, b []byte, v reflect.Value) ([]byte, error) {
	if v.Len() == 0 {
		return append(b, "null"...), nil
	}
	return append(b, v.Bytes()...), nil
}

// writeOther leaves it to encoding/json.
func writeOther(_ *plan, b []byte, v reflect.Value) ([]byte, error) {
	other, err := json.Marshal(v.Interface())
	return append(b, other...), err
}

func writeStruct(p *plan, b []byte, v reflect.Value) ([]byte, error) {
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
		if b, err = f.plan.write(f.plan, append(b, f.text...), value); err != nil {
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

func writeSlice(p *plan, b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = p.elem.write(p.elem, b, v.Index(i)); err != nil {
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
