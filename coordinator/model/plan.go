package model

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// A plan is how the values of one type are written and read, worked out once. It makes
// the same bytes as encoding/json and is several times as fast: encoding is most of what
// a placement costs.
type plan struct {
	write func(p *plan, b []byte, v reflect.Value) ([]byte, error) // appends v
	read  func(p *plan, r *reader, v reflect.Value) bool           // false: read it in another way

	fields []planField // of a struct, embedded ones included, in the order in which they are written
	elem   *plan       // of a pointer or slice
	zeroer bool        // it has an IsZero of its own
}

type planField struct {
	name string // as in JSON
	text string // "name":
	path []int  // where it is, through embedded structs
	omit omission
	plan *plan
}

// An omission says when a field is not written.
type omission uint8

const (
	omitNever omission = iota
	omitEmpty
	omitZero
)

// plans are those of all kinds.
var plans = func() map[reflect.Type]*plan {
	m := map[reflect.Type]*plan{}
	for _, make := range blank {
		t := reflect.TypeOf(make()).Elem()
		m[t] = planOf(t)
	}
	return m
}()

// appendText is how a type writes itself without a detour.
type appendText interface {
	AppendText([]byte) ([]byte, error)
}

func planOf(t reflect.Type) *plan {
	_, reads := reflect.TypeAssert[json.Unmarshaler](reflect.New(t))
	_, texts := reflect.TypeAssert[encoding.TextUnmarshaler](reflect.New(t))
	_, appends := reflect.TypeAssert[appendText](reflect.New(t))
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return &plan{write: writeRaw, read: readRaw}
	case reads && appends:
		_, zeroer := reflect.TypeAssert[interface{ IsZero() bool }](reflect.New(t))
		return &plan{write: writeSelf, read: readSelf, zeroer: zeroer}
	case reads || texts:
		return &plan{write: writeOther, read: readOther}
	default:
		return planOfKind(t)
	}
}

func planOfKind(t reflect.Type) *plan {
	switch k := t.Kind(); {
	case k == reflect.String:
		return &plan{write: writeText, read: readText}
	case k >= reflect.Int && k <= reflect.Int64:
		return &plan{write: writeInt, read: readInt}
	case k >= reflect.Uint && k <= reflect.Uint64:
		return &plan{write: writeUint, read: readUint}
	case k == reflect.Bool:
		return &plan{write: writeBool, read: readBool}
	case k == reflect.Struct:
		return &plan{write: writeStruct, read: readStruct, fields: planFields(t)}
	case k == reflect.Pointer:
		return &plan{write: writePointer, read: readPointer, elem: planOf(t.Elem())}
	case k == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return &plan{write: writeSlice, read: readSlice, elem: planOf(t.Elem())}
	default:
		return &plan{write: writeOther, read: readOther}
	}
}

func planFields(t reflect.Type) []planField {
	var fields []planField
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if f.Anonymous && tag == "" {
			for _, inner := range planFields(f.Type) {
				inner.path = append([]int{i}, inner.path...)
				fields = append(fields, inner)
			}
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		if !f.IsExported() || name == "" || name == "-" {
			continue
		}
		fields = append(fields, planField{
			name: name, text: `"` + name + `":`, path: []int{i}, plan: planOf(f.Type),
			omit: map[string]omission{"omitempty": omitEmpty, "omitzero": omitZero}[option],
		})
	}
	return fields
}

// of is the field in a struct.
func (f *planField) of(v reflect.Value) reflect.Value {
	for _, i := range f.path {
		v = v.Field(i)
	}
	return v
}

// field is the plan of the field of that name; nil: it has none.
func (p *plan) field(name string) *plan {
	for i := range p.fields {
		if p.fields[i].name == name {
			return p.fields[i].plan
		}
	}
	return nil
}
