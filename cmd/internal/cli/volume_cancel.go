package cli

import (
	"context"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) volumeCancel() *cobra.Command {
	r := &adminv1.CancelRequest{}
	c := &cobra.Command{
		Use: "cancel NAME", Short: "Go back from what is being changed about a volume, where that is safe",
		Long: "Go back from what is being changed about a volume, where that is safe: a copy that is on its way is removed, a growth " +
			"gives back what it reserved. A change whose old copy has begun to leave can only be finished.",
		Args: args("NAME"), ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			r.Name = args[0]
			v, err := adminv1.NewVolumesClient(a.client).Cancel(ctx, r)
			if err != nil {
				return err
			}
			return a.changed("volume", r.GetName(), v, "goes back; `rvol volume show %s` tells how far it is", r.GetName())
		}),
	}
	c.Flags().StringVar(&r.Plan, "plan", "", "`PLAN` to go back from, where several are under way")
	return c
}
