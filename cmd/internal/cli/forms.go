package cli

import (
	"reflect"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	adminv1 "rvol/proto/admin/v1"
)

// A Form is what a command answers with: the columns for people, and the document for programs.
type Form struct {
	Command string
	Columns []string // of -o table
	Wide    []string // that -o wide adds
	Message protoreflect.MessageDescriptor
	Fields  []Field // where there is no message
}

// A Field is one of a document that is not a message of the API.
type Field struct{ Name, Type string }

// Forms lists the answers that programs may rely on, for the manual and for the test that holds them.
func Forms() []Form {
	a := newApp(Env{})
	return []Form{
		formOf(a.volumes()), formOf(a.replicas()), formOf(a.attachments()), formOf(a.nodes()), formOf(a.lvgs()), formOf(a.holds()),
		formOf(a.pools()), formOf(a.classes()), formOf(a.operations()), formOf(a.orphans()), formOf(a.tokens()),
		{Command: "rvol event list", Columns: eventHeads(), Wide: []string{eventWide}, Message: descriptor(&adminv1.Event{})},
		{Command: "rvol cluster status", Message: descriptor(&adminv1.ClusterStatus{})},
		{Command: "rvol cluster members", Columns: memberHeads(), Message: descriptor(&adminv1.Member{})},
		{Command: "rvol cluster check", Message: descriptor(&adminv1.ClusterCheck{})},
		{Command: "rvol status", Fields: fieldsOf("", reflect.TypeFor[statusDocument]())},
		{Command: "rvol support-bundle", Fields: fieldsOf("", reflect.TypeFor[manifest]())},
	}
}

func formOf[T named](n noun[T]) Form {
	var none T
	f := Form{Command: "rvol " + n.kind + " list", Message: descriptor(none)}
	if n.kind == "hold" {
		f.Command = "rvol lvg hold list"
	}
	for _, c := range n.columns {
		if c.wide {
			f.Wide = append(f.Wide, c.head)
		} else {
			f.Columns = append(f.Columns, c.head)
		}
	}
	return f
}

func descriptor(m proto.Message) protoreflect.MessageDescriptor { return m.ProtoReflect().Descriptor() }

// fieldsOf lists the fields that a document of our own has in JSON, those within others by their path.
func fieldsOf(prefix string, t reflect.Type) []Field {
	var list []Field
	for i := range t.NumField() {
		name, of := prefix+t.Field(i).Tag.Get("json"), t.Field(i).Type
		switch {
		case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct:
			list = append(list, Field{name, "list"})
			list = append(list, fieldsOf(name+"[].", of.Elem())...)
		case of.Kind() == reflect.Slice:
			list = append(list, Field{name, "list of " + of.Elem().String()})
		case of.Kind() == reflect.Map:
			list = append(list, Field{name, "map to " + of.Elem().String()})
		case of.Kind() == reflect.Struct:
			list = append(list, Field{name, "time"})
		default:
			list = append(list, Field{name, of.String()})
		}
	}
	return list
}
