package model

import (
	"encoding/json"
	"reflect"
	"strings"
)

// A plan is how the values of one type are written and read, worked out once. It makes
// the same bytes as encoding/json and is several times as fast: encoding is most of what
// a placement costs.
type plan struct {
	op     op
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

// An op is a way to write and read a value.
type op uint8

const (
	opOther   op = iota // encoding/json does it
	opString            //
	opInt               //
	opUint              //
	opBool              //
	opStruct            //
	opSlice             //
	opPointer           //
	opSelf              // it writes itself as a text
	opRaw               // it is JSON already
)

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
	if t == reflect.TypeFor[json.RawMessage]() {
		return &plan{op: opRaw}
	}
	if _, ok := reflect.TypeAssert[json.Unmarshaler](reflect.New(t)); ok {
		_, appends := reflect.TypeAssert[appendText](reflect.New(t))
		_, zeroer := reflect.TypeAssert[interface{ IsZero() bool }](reflect.New(t))
		if appends {
			return &plan{op: opSelf, zeroer: zeroer}
		}
		return &plan{}
	}
	switch t.Kind() {
	case reflect.String:
		return &plan{op: opString}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &plan{op: opInt}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &plan{op: opUint}
	case reflect.Bool:
		return &plan{op: opBool}
	case reflect.Struct:
		return &plan{op: opStruct, fields: planFields(t)}
	case reflect.Pointer:
		return &plan{op: opPointer, elem: planOf(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return &plan{op: opSlice, elem: planOf(t.Elem())}
		}
	default:
	}
	return &plan{}
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
