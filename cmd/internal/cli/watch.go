package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	adminv1 "rvol/proto/admin/v1"
)

// watch shows a list whenever it changes: on a terminal the whole of it, elsewhere only the lines that are new.
func (n noun[T]) watch(ctx context.Context, q *adminv1.ListRequest) error {
	if n.app.flags.structured() {
		return usage("--watch with -o %s: want table, wide or name", n.app.flags.output)
	}
	live, before := n.app.live(n.app.env.Stdout), []string(nil)
	err := n.app.follow(ctx, n.reads, func(ctx context.Context) (bool, error) {
		q.Stale = n.app.flags.stale
		items, err := n.list(ctx, q)
		if comesBack(err) && over(ctx) == nil {
			n.app.note("%s", plain(err))
			return false, nil
		}
		if err != nil {
			return false, err
		}
		lines := n.lines(items)
		if slices.Equal(lines, before) {
			return false, nil
		}
		news, page := n.app.fit(lines), clearPage
		if !live {
			news, page = slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return slices.Contains(before, l) }), ""
		}
		before = lines
		if live || len(news) > 0 {
			_, err = fmt.Fprintln(n.app.env.Stdout, page+strings.Join(news, "\n"))
		}
		return false, err
	})
	return watched(ctx, err)
}

// watched is how a watch ends: well, when its watcher has seen enough.
func watched(ctx context.Context, err error) error {
	if over(ctx) != nil {
		err = nil
	}
	return err
}

func (n noun[T]) lines(items []T) []string {
	if n.app.flags.output != "name" {
		return n.table(items).lines()
	}
	lines := make([]string, len(items))
	for i, t := range items {
		lines[i] = n.kind + "/" + t.GetMeta().GetName()
	}
	return lines
}
