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
	class, wait := "", false
	c := &cobra.Command{
		Use: "set NAME", Short: "Change a volume's class, labels, properties and limits", Args: args("NAME"),
		Long: "Change a volume's class, labels, properties and limits. Another class may ask for other numbers of copies: they come " +
			"and go while the volume is used.",
		ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) (err error) {
			if err := someFlag(c); err != nil {
				return err
			}
			r := &adminv1.SetVolumeRequest{Name: args[0], MaxAttachments: given(c, "max-attachments", most), Class: class}
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
			if class == "" || !wait {
				return a.changed("volume", args[0], v, "changed")
			}
			return a.hasClass(ctx, args[0], class)
		}),
	}
	labels.on(c)
	pairFlag(c, &properties, "property", "a property, kept as it is")
	c.Flags().Int32Var(&most, "max-attachments", 0, "on how many nodes, `N`, it may be in use at once")
	c.Flags().StringVar(&class, "class", "", "another `CLASS`, whose layout it then takes")
	complete(c, "class", a.completeNames("class"))
	waitFlag(c, &wait, "it has the layout of its class")
	return c
}

// hasClass waits until a volume has what its class asks for.
func (a *app) hasClass(ctx context.Context, name, class string) error {
	n, last := a.volumes(), (*adminv1.Volume)(nil)
	err := a.wait(ctx, wish{kind: n.kind, name: name, kinds: n.reads, look: func(ctx context.Context) (stage, error) {
		return appears(n, name, func(v *adminv1.Volume) stage {
			last = v
			if c := condition(v.GetConditions(), "ConfigurationReady"); c.GetStatus() != "True" {
				for _, t := range v.GetTransitions() {
					return passing(v, t)
				}
				return stage{phase: c.GetReason(), waiting: c.GetMessage()}
			}
			return stage{done: true}
		})(ctx)
	}})
	if err != nil {
		return err
	}
	return a.changed("volume", name, last, "has the layout of class %s: %s", class, last.GetLayout())
}
