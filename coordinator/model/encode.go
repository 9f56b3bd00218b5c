package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// Encode renders o as the bytes to propose. Fields that o was read with but that
// this binary does not know are written back unchanged.
func Encode(o Object) ([]byte, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Key(), err)
	}
	raw := o.Info().raw
	if len(raw) == 0 {
		return b, nil
	}
	kept, err := keepUnknown(raw, b, reflect.TypeOf(o).Elem())
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Key(), err)
	}
	return kept, nil
}

// Decode reads the bytes of an object of kind k that last changed at revision rev.
// Unknown fields are kept for Encode; an unknown kind is an error.
func Decode(k Kind, raw []byte, rev uint64) (Object, error) {
	o := New(k)
	if o == nil {
		return nil, fmt.Errorf("decode %s: this binary does not know that kind", k)
	}
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, fmt.Errorf("decode %s: %w", k, err)
	}
	o.Info().Revision, o.Info().raw = rev, raw
	shareWords(o)
	return o, nil
}

// Raw is the bytes that o was decoded from: what was proposed, unknown fields included.
// They must not be changed.
func Raw(o Object) []byte { return o.Info().raw }

// Clone copies o deeply, so that the copy may be changed and proposed.
func Clone[T Object](o T) T {
	b, err := Encode(o)
	if err != nil {
		panic(err) // only a programming error makes one of our own structs unencodable
	}
	c, err := Decode(o.Key().Kind, b, o.Info().Revision)
	if err != nil {
		panic(err)
	}
	return any(c).(T)
}

// keepUnknown returns now with those fields of old added that t does not declare.
func keepUnknown(old, now []byte, t reflect.Type) ([]byte, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || !isObject(old) || !isObject(now) || hasOwnJSON(t) {
		return now, nil
	}
	var was, is map[string]json.RawMessage
	if err := json.Unmarshal(old, &was); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(now, &is); err != nil {
		return nil, err
	}
	changed, err := merge(was, is, fields(t))
	if err != nil || !changed {
		return now, err
	}
	return json.Marshal(is) // maps are written sorted: the same bytes everywhere
}

// merge puts into is what was has and known lacks, at every depth.
func merge(was, is map[string]json.RawMessage, known map[string]reflect.Type) (changed bool, err error) {
	for name, value := range was {
		field, ok := known[name]
		switch {
		case !ok:
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

// hasOwnJSON says that t writes itself, as time.Time and netip.Addr do.
func hasOwnJSON(t reflect.Type) bool {
	_, ok := reflect.TypeAssert[json.Unmarshaler](reflect.New(t))
	return ok
}

// fields maps the JSON names that t declares, embedded structs included, to their types.
func fields(t reflect.Type) map[string]reflect.Type {
	names := map[string]reflect.Type{}
	for f := range t.Fields() {
		if f.Anonymous && f.Tag.Get("json") == "" {
			maps.Copy(names, fields(f.Type))
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "-" && name != "" {
			names[name] = f.Type
		}
	}
	return names
}
