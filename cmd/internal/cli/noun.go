package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	adminv1 "rvol/proto/admin/v1"
)

// named is an object of the API.
type named interface {
	proto.Message
	GetMeta() *adminv1.Meta
}

// noun is a kind of object: how to read it and how to show it.
type noun[T named] struct {
	app     *app
	kind    string   // as in keys: "volume"
	reads   []string // kinds whose changes may change how it looks
	filters []string // of "node" and "volume", those that its list takes
	list    func(context.Context, *adminv1.ListRequest) ([]T, error)
	columns []column[T]
	more    func(T) []section // what show adds; nil: nothing
}

// column is one property of an object.
type column[T named] struct {
	head string
	wide bool // only with -o wide, and in show
	cell func(T) string
}

// section is a table with a title within show.
type section struct {
	title string
	table table
}

// read lists what q selects, the flags applied.
func (n noun[T]) read(ctx context.Context, q *adminv1.ListRequest) ([]T, error) {
	q.Stale = n.app.flags.stale
	items, err := n.list(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, name := range q.GetNames() {
		if !slices.ContainsFunc(items, func(t T) bool { return t.GetMeta().GetName() == name }) {
			return nil, n.app.notFound(ctx, n.kind, name)
		}
	}
	return items, nil
}

// one reads the object of that name; ok is false when there is none.
func (n noun[T]) one(ctx context.Context, name string) (item T, ok bool, err error) {
	items, err := n.list(ctx, &adminv1.ListRequest{Names: []string{name}, Stale: n.app.flags.stale})
	if isNotFound(err) {
		return item, false, nil
	}
	for _, t := range items {
		if t.GetMeta().GetName() == name {
			return t, true, nil
		}
	}
	return item, false, err
}

// names lists all names, for completion and for hints.
func (n noun[T]) names(ctx context.Context) ([]string, error) {
	items, err := n.list(ctx, &adminv1.ListRequest{Stale: true})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(items))
	for i, t := range items {
		names[i] = t.GetMeta().GetName()
	}
	return names, nil
}

func (n noun[T]) listCommand() *cobra.Command {
	q, watch := &adminv1.ListRequest{}, false
	c := &cobra.Command{
		Use: "list [NAME]...", Aliases: []string{"ls"}, Short: "List " + plural(n.kind),
		ValidArgsFunction: n.app.completeNames(n.kind),
		RunE: n.app.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			q.Names = args
			if watch {
				return n.watch(ctx, q)
			}
			items, err := n.read(ctx, q)
			if err != nil {
				return err
			}
			return n.writeList(items)
		}),
	}
	f := c.Flags()
	f.StringVarP(&q.Selector, "selector", "l", "", "only those with these labels, as in rack=a,disk!=hdd")
	f.BoolVarP(&watch, "watch", "w", false, "go on, and show what changes")
	for _, kind := range n.filters {
		to := &q.Node
		if kind == "volume" {
			to = &q.Volume
		}
		f.StringVar(to, kind, "", "only those of this "+kind)
		complete(c, kind, n.app.completeNames(kind))
	}
	return c
}

func (n noun[T]) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME...", Short: "Show all about one " + n.kind + " or several",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) == 0 {
				return usage("NAME is missing")
			}
			return nil
		},
		ValidArgsFunction: n.app.completeNames(n.kind),
		RunE: n.app.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			items, err := n.read(ctx, &adminv1.ListRequest{Names: args})
			if err != nil {
				return err
			}
			return n.writeShown(items)
		}),
	}
}

func (n noun[T]) writeList(items []T) error {
	if n.app.flags.structured() {
		return n.app.write(objects(items))
	}
	if n.app.flags.output == "name" {
		return n.writeNames(items)
	}
	if len(items) == 0 {
		n.app.note("There are no %s.", plural(n.kind))
		return nil
	}
	return n.table(items).write(n.app.env.Stdout)
}

func objects[T named](items []T) []object {
	list := make([]object, len(items)) // empty is [], not null
	for i, t := range items {
		list[i] = objectOf(t)
	}
	return list
}

func (n noun[T]) writeNames(items []T) error {
	for _, t := range items {
		if _, err := fmt.Fprintf(n.app.env.Stdout, "%s/%s\n", n.kind, t.GetMeta().GetName()); err != nil {
			return err
		}
	}
	return nil
}

func (n noun[T]) table(items []T) table {
	out := table{paint: n.app.paints()}
	for _, c := range n.shown() {
		out.heads = append(out.heads, c.head)
	}
	for _, t := range items {
		out.rows = append(out.rows, n.row(t))
	}
	return out
}

// shown are the columns of the form asked for.
func (n noun[T]) shown() []column[T] {
	if n.app.flags.output == "wide" {
		return n.columns
	}
	return slices.DeleteFunc(slices.Clone(n.columns), func(c column[T]) bool { return c.wide })
}

func (n noun[T]) row(t T) []string {
	var cells []string
	for _, c := range n.shown() {
		cells = append(cells, dash(c.cell(t)))
	}
	return cells
}

func (n noun[T]) writeShown(items []T) error {
	switch {
	case n.app.flags.structured() && len(items) == 1:
		return n.app.write(objectOf(items[0]))
	case n.app.flags.structured():
		return n.app.write(objects(items))
	case n.app.flags.output == "name":
		return n.writeNames(items)
	}
	for i, t := range items {
		if i > 0 {
			fmt.Fprintln(n.app.env.Stdout)
		}
		if err := n.writeOne(t); err != nil {
			return err
		}
	}
	return nil
}

// writeOne writes every property on a line of its own, then the sections.
func (n noun[T]) writeOne(t T) error {
	facts := table{paint: n.app.paints()}
	for _, c := range n.columns {
		facts.rows = append(facts.rows, []string{c.head, dash(c.cell(t))})
	}
	facts.rows = append(facts.rows, metaRows(t.GetMeta())...)
	if err := facts.write(n.app.env.Stdout); err != nil {
		return err
	}
	if n.more == nil {
		return nil
	}
	for _, s := range n.more(t) {
		if len(s.table.rows) == 0 {
			continue
		}
		s.table.paint = facts.paint
		fmt.Fprintf(n.app.env.Stdout, "\n%s\n", s.title)
		for _, line := range s.table.lines() {
			if _, err := fmt.Fprintf(n.app.env.Stdout, "  %s\n", line); err != nil {
				return err
			}
		}
	}
	return nil
}

func metaRows(m *adminv1.Meta) [][]string {
	rows := [][]string{{"LABELS", dash(pairs(m.GetLabels()))}}
	if len(m.GetProperties()) > 0 {
		rows = append(rows, []string{"PROPERTIES", pairs(m.GetProperties())})
	}
	rows = append(rows, []string{"UID", dash(m.GetUid())}, []string{"CREATED", dash(when(m.GetCreatedAt()))})
	if m.GetDeletingSince() != nil {
		rows = append(rows, []string{"DELETING SINCE", when(m.GetDeletingSince())})
	}
	return rows
}

// plural makes the plural of a kind, for sentences.
func plural(kind string) string {
	if strings.HasSuffix(kind, "s") {
		return kind + "es"
	}
	return kind + "s"
}
