package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) exportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export [KIND | KIND/NAME]...", Short: "Write objects as a file that apply reads",
		Long: `Write objects as a file that ` + "`rvol apply`" + ` reads: nodes, volume groups, pools, classes, quotas and volumes, or those named. Pools made
from classes are left out, for they come with their class; what is being deleted as well.`,
		Example: "  rvol export >cluster.yaml\n  rvol export class node/n1",
		Args:    exportArgs, ValidArgsFunction: fixed(kindsOfSpec()...),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			r := &adminv1.ExportRequest{Stale: a.flags.stale}
			for _, arg := range args {
				if strings.Contains(arg, "/") {
					r.Names = append(r.Names, arg)
				} else {
					r.Kinds = append(r.Kinds, arg)
				}
			}
			answer, err := adminv1.NewObjectsClient(a.client).Export(ctx, r)
			if err != nil {
				return err
			}
			return a.writeExport(answer.GetObjects())
		}),
	}
}

// exportArgs checks that every argument begins with a kind that people edit.
func exportArgs(_ *cobra.Command, given []string) error {
	for _, arg := range given {
		kind, name, named := strings.Cut(arg, "/")
		if !slices.Contains(kindsOfSpec(), kind) || named && name == "" {
			return usage("%q: want %s, or one with a name, as in class/r2", arg, strings.Join(kindsOfSpec(), ", "))
		}
	}
	return nil
}

func (a *app) writeExport(specs []*adminv1.Spec) error {
	docs := make([]object, len(specs))
	for i, s := range specs {
		docs[i] = documentOf(s)
	}
	switch a.flags.output {
	case "json":
		return a.write(docs)
	case "name":
		for _, d := range docs {
			if _, err := fmt.Fprintf(a.env.Stdout, "%s/%s\n", d[0].value, d[1].value); err != nil {
				return err
			}
		}
		return nil
	}
	e := yaml.NewEncoder(a.env.Stdout)
	e.SetIndent(2)
	for _, d := range docs {
		if err := e.Encode(d); err != nil {
			return err
		}
	}
	return e.Close()
}

// documentOf is an object as readDocument reads it.
func documentOf(s *adminv1.Spec) object {
	r := s.ProtoReflect()
	f := r.WhichOneof(r.Descriptor().Oneofs().ByName("object"))
	return append(object{{"kind", string(f.Name())}, {"name", s.GetName()}}, writtenFields(r.Get(f).Message())...)
}

// writtenFields leaves out what is empty: text, lists, maps. Numbers and yes or no are always said.
func writtenFields(m protoreflect.Message) object {
	var out object
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		always := !f.IsList() && !f.IsMap() && f.Message() == nil && f.Kind() != protoreflect.StringKind && !f.HasPresence()
		if always || m.Has(f) {
			out = append(out, field{string(f.Name()), writtenValue(f, m.Get(f))})
		}
	}
	return out
}

func writtenValue(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	if f.IsList() && f.Kind() == protoreflect.Int64Kind {
		list := make([]any, v.List().Len())
		for i := range list {
			list[i] = exactSize(v.List().Get(i).Int())
		}
		return list
	}
	if f.Kind() == protoreflect.Int64Kind {
		return exactSize(v.Int())
	}
	if f.IsList() || f.IsMap() || f.Message() == nil {
		return valueOf(f, v)
	}
	return writtenMessage(v.Message().Interface())
}

func writtenMessage(m proto.Message) any {
	if d, ok := m.(*durationpb.Duration); ok {
		return exactDuration(d.AsDuration())
	}
	return writtenFields(m.ProtoReflect())
}

// exactSize writes bytes in the largest unit that divides them: "10GiB".
func exactSize(n int64) any {
	for _, unit := range slices.Backward([]struct {
		name string
		size int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50}}) {
		if n >= unit.size && n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + unit.name
		}
	}
	return n
}

// exactDuration writes a duration without the units of which there are none: "10m", "0s".
func exactDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
