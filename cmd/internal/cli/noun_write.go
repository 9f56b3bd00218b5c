package cli

import (
	"fmt"
	"slices"
	"strings"

	adminv1 "rvol/proto/admin/v1"
)

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
			if _, err := fmt.Fprintln(n.app.env.Stdout); err != nil {
				return err
			}
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
		if _, err := fmt.Fprintf(n.app.env.Stdout, "\n%s\n", s.title); err != nil {
			return err
		}
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
