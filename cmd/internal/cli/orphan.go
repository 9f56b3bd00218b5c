package cli

import (
	"context"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) orphanCommand() *cobra.Command {
	n := a.orphans()
	c := a.group("orphan", "What nodes hold of this cluster's and the state has never heard of", n.listCommand(), a.orphanKeep(), a.orphanRemove())
	c.Long = `Orphans are logical volumes and DRBD resources of this cluster, by their tags and names, that its state does not know: as after
an old state was restored. They are charged for, kept running, and never removed by themselves. To take one back with
its data: rvol volume adopt.`
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
	c := &cobra.Command{
		Use: "remove NAME", Short: "Destroy an orphan with its data", Args: args("NAME"), ValidArgsFunction: a.completeEach("orphan"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			if err := ok.ask(c, args[0], "destroys the orphan and its data"); err != nil {
				return err
			}
			done, err := adminv1.NewOrphansClient(a.client).Remove(ctx, &adminv1.DeleteRequest{Name: args[0], Confirm: args[0]})
			return a.deleted("orphan", args[0], done, err)
		}),
	}
	ok.nameFlag(c)
	return c
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
