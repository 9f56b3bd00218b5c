package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// object is a message with its fields in the order of the .proto file, which a map would lose. protojson is not used
// because it writes 64-bit numbers as strings and changes its spacing at random.
type object []field

type field struct {
	name  string
	value any // object, []any, string, bool, int64, uint64, float64
}

// objectOf turns a message into what the forms json and yaml show.
func objectOf(m proto.Message) object { return reflected(m.ProtoReflect()) }

func reflected(m protoreflect.Message) object {
	fields := m.Descriptor().Fields()
	o := make(object, 0, fields.Len())
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.HasPresence() && !m.Has(f) {
			continue
		}
		o = append(o, field{string(f.Name()), valueOf(f, m.Get(f))})
	}
	return o
}

func valueOf(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case f.IsMap():
		o := object{}
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			o = append(o, field{k.String(), single(f.MapValue(), v)})
			return true
		})
		slices.SortFunc(o, func(a, b field) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
		return o
	case f.IsList():
		list := make([]any, v.List().Len())
		for i := range list {
			list[i] = single(f, v.List().Get(i))
		}
		return list
	default:
		return single(f, v)
	}
}

func single(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		switch m := v.Message().Interface().(type) {
		case *timestamppb.Timestamp:
			return m.AsTime().Format(time.RFC3339Nano)
		case *durationpb.Duration:
			return strconv.FormatFloat(m.AsDuration().Seconds(), 'f', -1, 64) + "s"
		}
		return reflected(v.Message())
	case protoreflect.BytesKind:
		return base64.StdEncoding.EncodeToString(v.Bytes())
	case protoreflect.EnumKind:
		return int64(v.Enum())
	default:
		return v.Interface() // numbers stay numbers
	}
}

// MarshalJSON keeps the order of the fields.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(f.name); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
		b.WriteByte(':')
		if err := e.Encode(f.value); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// MarshalYAML keeps the order of the fields.
func (o object) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range o {
		var name, value yaml.Node
		if err := name.Encode(f.name); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
		if err := value.Encode(f.value); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
		n.Content = append(n.Content, &name, &value)
	}
	return n, nil
}
