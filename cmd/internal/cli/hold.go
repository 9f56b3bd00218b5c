package cli

import (
	"context"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) holdCommand() *cobra.Command {
	n := a.holds()
	return a.group("hold", "Space that is kept from being given away", n.listCommand(), a.holdCreate(),
		a.deleteCommand("hold", "Give held space back", func(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
			return adminv1.NewHoldsClient(a.client).Delete(ctx, r)
		}))
}

func (a *app) holds() noun[*adminv1.Hold] {
	return noun[*adminv1.Hold]{
		app: a, kind: "hold", filters: []string{"node"}, reads: []string{"reservation"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]*adminv1.Hold, error) {
			r, err := adminv1.NewHoldsClient(a.client).List(ctx, q)
			return r.GetHolds(), err
		},
		columns: []column[*adminv1.Hold]{
			{head: "NAME", cell: func(h *adminv1.Hold) string { return h.GetMeta().GetName() }},
			{head: "LVG", cell: (*adminv1.Hold).GetLvg},
			{head: "THIN POOL", cell: (*adminv1.Hold).GetThinPool},
			{head: "SIZE", cell: func(h *adminv1.Hold) string { return humanSize(h.GetSize()) }},
			{head: "AGE", cell: func(h *adminv1.Hold) string { return a.age(h.GetMeta().GetCreatedAt()) }},
		},
	}
}

func (a *app) holdCreate() *cobra.Command {
	r, size := &adminv1.CreateHoldRequest{}, ""
	c := &cobra.Command{
		Use: "create NAME --lvg NODE/VG --size SIZE", Short: "Keep space of a volume group from being given away", Args: args("NAME"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) (err error) {
			r.Name = args[0]
			if r.Size, err = parseSize(size); err != nil {
				return usage("%s", err)
			}
			h, err := adminv1.NewHoldsClient(a.client).Create(ctx, r)
			if err != nil {
				return err
			}
			place := h.GetLvg()
			if h.GetThinPool() != "" {
				place += "/" + h.GetThinPool()
			}
			return a.changed("hold", r.GetName(), h, "keeps %s of %s", humanSize(h.GetSize()), place)
		}),
	}
	f := c.Flags()
	f.StringVar(&r.Lvg, "lvg", "", "the volume group, `NODE/VG`")
	f.StringVar(&r.ThinPool, "thin-pool", "", "a thin pool of it, instead of the group itself")
	f.StringVar(&size, "size", "", "how much: "+sizeHelp)
	need(c, "lvg", "size")
	complete(c, "lvg", a.completeNames("lvg"))
	complete(c, "size", cobra.NoFileCompletions)
	return c
}
