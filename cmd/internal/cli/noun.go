package cli

import (
	"context"
	"slices"

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

// one reads the object of that name, as it is now: what changes something is not built on old answers. ok is false when
// there is none.
func (n noun[T]) one(ctx context.Context, name string) (item T, ok bool, err error) {
	items, err := n.list(ctx, &adminv1.ListRequest{Names: []string{name}})
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
