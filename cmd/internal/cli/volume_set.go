package cli

import (
	"context"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) volumeStop(verb, short string, stopped bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Args: args("NAME"),
		ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			v, err := adminv1.NewVolumesClient(a.client).Set(ctx, &adminv1.SetVolumeRequest{Name: args[0], Stopped: &stopped})
			if err != nil {
				return err
			}
			return a.changed("volume", args[0], v, "is to %s", verb)
		}),
	}
}

func (a *app) volumeSet() *cobra.Command {
	var labels labelFlags
	var properties []string
	var most int32
	c := &cobra.Command{
		Use: "set NAME", Short: "Change a volume's labels, properties and limits", Args: args("NAME"),
		ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) (err error) {
			if err := someFlag(c); err != nil {
				return err
			}
			r := &adminv1.SetVolumeRequest{Name: args[0], MaxAttachments: given(c, "max-attachments", most)}
			if r.Labels, err = labels.change(); err != nil {
				return err
			}
			if r.Properties, err = parsePairs("property", properties); err != nil {
				return err
			}
			v, err := adminv1.NewVolumesClient(a.client).Set(ctx, r)
			if err != nil {
				return err
			}
			return a.changed("volume", args[0], v, "changed")
		}),
	}
	labels.on(c)
	pairFlag(c, &properties, "property", "a property, kept as it is")
	c.Flags().Int32Var(&most, "max-attachments", 0, "on how many nodes, `N`, it may be in use at once")
	return c
}
