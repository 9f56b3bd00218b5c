package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) orphanCommand() *cobra.Command {
	n := a.orphans()
	c := a.group("orphan", "What nodes hold of this cluster's that is unknown, or was deleted while they were away", n.listCommand(), a.orphanKeep(), a.orphanRemove())
	c.Long = `Orphans are logical volumes and DRBD resources of this cluster, by their tags and names, that its state does not know: as after
an old state was restored. They are charged for, kept running, and never removed by themselves. To take one back with
its data: rvol volume adopt.

Leftovers are what was deleted or replaced while its node was away. When the node comes back they are removed, so many in
a period (--max-leftovers and --leftovers-period of rvol-coordinator(8)), so that somebody can see what happens and keep
what should not go. Until its turn comes, each is waiting.`
	return c
}

func (a *app) orphans() noun[*adminv1.Orphan] {
	type orphan = *adminv1.Orphan
	return noun[orphan]{
		app: a, kind: "orphan", filters: []string{"node", "volume"}, reads: []string{"reservation", "node"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]orphan, error) {
			r, err := adminv1.NewOrphansClient(a.client).List(ctx, q)
			return r.GetOrphans(), err
		},
		columns: []column[orphan]{
			{head: "NAME", cell: func(o orphan) string { return o.GetMeta().GetName() }},
			{head: "VOLUME", cell: orphan.GetVolume},
			{head: "SIZE", cell: orphanSize},
			{head: "STATE", cell: orphan.GetState},
			{head: "IN USE", cell: func(o orphan) string { return dash(o.GetInUse()) }},
			{head: "ADOPTABLE", cell: adoptable},
			{head: "DELETED", cell: func(o orphan) string { return dash(when(o.GetSince())) }},
			{head: "WHY", cell: func(o orphan) string { return dash(o.GetWhy()) }},
			{head: "LV UUID", wide: true, cell: orphan.GetLvUuid},
			{head: "TAG", wide: true, cell: orphan.GetReservation},
		},
	}
}

func orphanSize(o *adminv1.Orphan) string {
	if o.GetKind() != "lv" {
		return ""
	}
	return humanSize(o.GetSize())
}

func adoptable(o *adminv1.Orphan) string {
	if o.GetAdoptable() {
		return "yes"
	}
	return "no"
}

func (a *app) orphanKeep() *cobra.Command {
	r := &adminv1.KeepOrphanRequest{}
	c := &cobra.Command{
		Use: "keep NAME", Short: "Note that an orphan is meant to stay", Args: args("NAME"), ValidArgsFunction: a.completeEach("orphan"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			r.Name = args[0]
			done, err := adminv1.NewOrphansClient(a.client).Keep(ctx, r)
			if err != nil {
				return err
			}
			text := "kept"
			if r.GetUndo() {
				text = "reported again"
			}
			return a.changed("orphan", r.GetName(), done, "%s", text)
		}),
	}
	c.Flags().BoolVar(&r.Undo, "undo", false, "report it again")
	return c
}

func (a *app) orphanRemove() *cobra.Command {
	ok := consent{app: a}
	var node string
	var all bool
	c := &cobra.Command{
		Use: "remove [NAME]", Short: "Destroy an orphan with its data, or all leftovers of a node at once",
		Long: `Remove destroys an orphan with its data. A leftover, which the state knows to be deleted, need not wait for its turn then; with
--node and --all, none of that node's need, but for those that are kept. They are shown first.`,
		Args: args("[NAME]"), ValidArgsFunction: a.completeEach("orphan"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			if byNode := node != "" && all; byNode == (len(args) == 1) || (node != "") != all {
				return usage("%s: give a NAME, or --node NODE and --all", verb(c))
			}
			if all {
				return a.removeLeftovers(ctx, c, ok, node)
			}
			if err := ok.ask(c, args[0], "destroys the orphan and its data"); err != nil {
				return err
			}
			done, err := adminv1.NewOrphansClient(a.client).Remove(ctx, &adminv1.DeleteRequest{Name: args[0], Confirm: args[0]})
			return a.deleted("orphan", args[0], done, err)
		}),
	}
	c.Flags().StringVar(&node, "node", "", "of this node, what waits to be removed")
	c.Flags().BoolVar(&all, "all", false, "all of it, whatever the limit")
	complete(c, "node", a.completeNames("node"))
	ok.nameFlag(c)
	return c
}

// removeLeftovers shows what waits on a node, and lets that go which was shown.
func (a *app) removeLeftovers(ctx context.Context, c *cobra.Command, ok consent, node string) error {
	client := adminv1.NewOrphansClient(a.client)
	r, err := client.List(ctx, &adminv1.ListRequest{Node: node})
	if err != nil {
		return err
	}
	q := &adminv1.RemoveLeftoversRequest{Node: node, Confirm: node}
	shown := table{paint: a.paints(), heads: []string{"LEFTOVER", "VOLUME", "SIZE", "DELETED"}}
	for _, o := range r.GetOrphans() {
		if o.GetState() == "waiting" {
			q.Names = append(q.Names, o.GetMeta().GetName())
			shown.rows = append(shown.rows, []string{o.GetMeta().GetName(), o.GetVolume(), orphanSize(o), when(o.GetSince())})
		}
	}
	if len(q.GetNames()) > 0 && !a.flags.structured() {
		if err := a.tables(shown); err != nil {
			return err
		}
	}
	if err := ok.ask(c, node, fmt.Sprintf("destroys what was left of deleted volumes there, at once (%d)", len(q.GetNames()))); err != nil {
		return err
	}
	done, err := client.RemoveLeftovers(ctx, q)
	if err != nil {
		return err
	}
	return a.changed("node", node, done, "%s", done.GetMessage())
}

func (a *app) volumeAdopt() *cobra.Command {
	r := &adminv1.AdoptVolumeRequest{}
	c := &cobra.Command{
		Use: "adopt NAME --class CLASS", Short: "Take back a volume that nodes hold and the state has never heard of", Args: args("NAME"),
		Long: `Adopt makes the records of a volume that nodes hold and the state does not know, as it is: with its data, logical volumes,
numbers and users. All nodes that had a part of it must report. See: rvol orphan list`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			r.Name = args[0]
			vol, err := adminv1.NewVolumesClient(a.client).Adopt(ctx, r)
			if err != nil {
				return err
			}
			text := "adopted"
			if r.GetDryRun() {
				text = "can be adopted"
			}
			return a.changed("volume", r.GetName(), vol, "%s", text)
		}),
	}
	c.Flags().StringVar(&r.Class, "class", "", "class that it shall follow")
	c.Flags().BoolVar(&r.DryRun, "dry-run", false, "only say whether it can be adopted")
	need(c, "class")
	complete(c, "class", a.completeNames("class"))
	return c
}
