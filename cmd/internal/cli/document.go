package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	adminv1 "rvol/proto/admin/v1"
)

// document is one object of a file: kind, name and the fields of the message for its kind in apply.proto.
type document struct {
	file   string
	line   int
	kind   string
	wanted *adminv1.Wanted
}

func (d document) key() string { return d.kind + "/" + d.wanted.GetSpec().GetName() }

func (d document) place() string { return fmt.Sprintf("%s:%d", d.file, d.line) }

// refersTo says whether a refusal is about an object.
func refersTo(err error, key string) bool {
	s, ok := status.FromError(err)
	if !ok {
		return false
	}
	r := refusalOf(s)
	return r != nil && r.GetObject() == key
}

// misread is what is wrong in one line.
type misread struct {
	line int
	text string
}

func (m *misread) Error() string { return m.text }

func misreadAt(n *yaml.Node, format string, args ...any) error {
	return &misread{line: n.Line, text: fmt.Sprintf(format, args...)}
}

// readDocuments reads the objects of one file.
func readDocuments(file string, in io.Reader) ([]document, error) {
	var docs []document
	for d := yaml.NewDecoder(in); ; {
		var n yaml.Node
		err := d.Decode(&n)
		switch {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, usage("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
		case n.Kind != yaml.DocumentNode || n.Content[0].Tag == "!!null":
			continue // nothing between two marks
		}
		doc, err := readDocument(n.Content[0])
		if m := new(misread); errors.As(err, &m) {
			return nil, usage("%s:%d: %s", file, m.line, m.text)
		}
		doc.file = file
		docs = append(docs, doc)
	}
}

func readDocument(root *yaml.Node) (document, error) {
	doc := document{line: root.Line}
	fields, err := mapping(root, "an object")
	if err != nil {
		return doc, err
	}
	spec := &adminv1.Spec{}
	for i := 0; i < len(fields); i += 2 {
		switch fields[i].Value {
		case "kind":
			doc.kind = fields[i+1].Value
		case "name":
			spec.Name = fields[i+1].Value
		}
	}
	kinds := kindsOfSpec()
	if !slices.Contains(kinds, doc.kind) {
		return doc, misreadAt(root, "kind %q: want one of %s", doc.kind, strings.Join(kinds, ", "))
	}
	if spec.GetName() == "" {
		return doc, misreadAt(root, "the %s has no name", doc.kind)
	}
	r := spec.ProtoReflect()
	body := r.Mutable(r.Descriptor().Fields().ByName(protoreflect.Name(doc.kind))).Message()
	doc.wanted = &adminv1.Wanted{Spec: spec}
	doc.wanted.Given, err = readFields(body, fields, doc.kind+" "+spec.GetName(), "kind", "name")
	return doc, err
}

// kindsOfSpec names the kinds of object that people edit.
func kindsOfSpec() []string {
	var out []string
	fields := (&adminv1.Spec{}).ProtoReflect().Descriptor().Oneofs().ByName("object").Fields()
	for i := range fields.Len() {
		out = append(out, string(fields.Get(i).Name()))
	}
	return out
}

// readFields sets the fields of m from keys and values in turn, and names them.
func readFields(m protoreflect.Message, nodes []*yaml.Node, what string, except ...string) ([]string, error) {
	var given []string
	for i := 0; i < len(nodes); i += 2 {
		name := nodes[i].Value
		if slices.Contains(except, name) {
			continue
		}
		f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		if f == nil {
			return nil, unknownField(m, nodes[i], what)
		}
		given = append(given, name)
		if nodes[i+1].Tag == "!!null" {
			continue // given, and empty
		}
		if err := readField(m, f, nodes[i+1], what+": "+name); err != nil {
			return nil, err
		}
	}
	return given, nil
}

func unknownField(m protoreflect.Message, at *yaml.Node, what string) error {
	var known []string
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		known = append(known, string(fields.Get(i).Name()))
	}
	if near := nearest(at.Value, known); near != "" {
		return misreadAt(at, "%s: unknown field %q: did you mean %s?", what, at.Value, near)
	}
	return misreadAt(at, "%s: unknown field %q: there are %s", what, at.Value, strings.Join(known, ", "))
}

func readField(m protoreflect.Message, f protoreflect.FieldDescriptor, n *yaml.Node, what string) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case f.IsMap():
		pairs, err := mapping(n, what)
		if err != nil {
			return err
		}
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i+1].Kind != yaml.ScalarNode {
				return misreadAt(pairs[i+1], "%s: %s: want text", what, pairs[i].Value)
			}
			m.Mutable(f).Map().Set(protoreflect.ValueOfString(pairs[i].Value).MapKey(), protoreflect.ValueOfString(pairs[i+1].Value))
		}
		return nil
	case f.IsList():
		if n.Kind != yaml.SequenceNode {
			return misreadAt(n, "%s: want a list", what)
		}
		for _, item := range n.Content {
			v, err := readScalar(f, item, what)
			if err != nil {
				return err
			}
			m.Mutable(f).List().Append(v)
		}
		return nil
	case f.Message() != nil:
		return readMessage(m, f, n, what)
	}
	v, err := readScalar(f, n, what)
	if err == nil {
		m.Set(f, v)
	}
	return err
}

func readMessage(m protoreflect.Message, f protoreflect.FieldDescriptor, n *yaml.Node, what string) error {
	if f.Message().FullName() == "google.protobuf.Duration" {
		d, err := time.ParseDuration(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode {
			return misreadAt(n, "%s: %q: want a time, as in 10m or 1h30m", what, n.Value)
		}
		m.Set(f, protoreflect.ValueOfMessage(durationpb.New(d).ProtoReflect()))
		return nil
	}
	fields, err := mapping(n, what)
	if err != nil {
		return err
	}
	_, err = readFields(m.Mutable(f).Message(), fields, what)
	return err
}

func readScalar(f protoreflect.FieldDescriptor, n *yaml.Node, what string) (protoreflect.Value, error) {
	var v protoreflect.Value
	if n.Kind != yaml.ScalarNode {
		return v, misreadAt(n, "%s: want one value", what)
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		var b bool
		if err := n.Decode(&b); err != nil {
			return v, misreadAt(n, "%s: %q: want true or false", what, n.Value)
		}
		return protoreflect.ValueOfBool(b), nil
	case protoreflect.Int32Kind:
		i, err := strconv.ParseInt(n.Value, 10, 32)
		if err != nil {
			return v, misreadAt(n, "%s: %q: want a whole number", what, n.Value)
		}
		return protoreflect.ValueOfInt32(int32(i)), nil
	case protoreflect.Int64Kind: // bytes, all of them
		size, err := parseSize(n.Value)
		if err != nil {
			return v, misreadAt(n, "%s: %s", what, err)
		}
		return protoreflect.ValueOfInt64(size), nil
	default:
		return protoreflect.ValueOfString(n.Value), nil
	}
}

// mapping returns the keys and values of a mapping, in turn. No key may be there twice.
func mapping(n *yaml.Node, what string) ([]*yaml.Node, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return nil, misreadAt(n, "%s: want fields, as in `name: r2`", what)
	}
	lines := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		if line, twice := lines[k.Value]; twice {
			return nil, misreadAt(k, "%s: %q is there twice, first in line %d", what, k.Value, line)
		}
		lines[k.Value] = k.Line
	}
	return n.Content, nil
}
