package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	placements "rvol/coordinator/decide/scheduling/cases"
	adminv1 "rvol/proto/admin/v1"
)

// planPlacement asks the cluster where a volume would go; with --cases it needs none.
func (a *app) planPlacement() *cobra.Command {
	r, file, sizes := &adminv1.PlanPlacementRequest{}, "", []string(nil)
	c := &cobra.Command{
		Use: "placement {--class CLASS --size SIZE | --cases FILE}", Short: "Tell where the replicas of a volume would go, and why",
		Long: "Tell where the replicas of a new volume would go now, and why each other candidate would not be taken. Nothing is changed. " +
			"With --cases, answer written cases without a cluster.",
		Example: "  rvol plan placement --class r2 --size 10GiB --attach-to n1",
		Args:    args(), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if file != "" {
				for _, other := range []string{"class", "size", "attach-to", "alternatives"} {
					if err := exclusive(c, "cases", other); err != nil {
						return err
					}
				}
				return a.planFile(file, placements.Cases)
			}
			return a.run(func(ctx context.Context, _ *cobra.Command, _ []string) (err error) {
				if r.GetClass() == "" || len(sizes) == 0 {
					return usage("plan placement: give --class and --size, or --cases")
				}
				if r.Sizes, err = parseSizes(sizes); err != nil {
					return err
				}
				return a.planVolume(ctx, r)
			})(c, args)
		},
	}
	f := c.Flags()
	f.StringVar(&r.Class, "class", "", "the volume's `CLASS`")
	f.StringSliceVar(&sizes, "size", nil, "`SIZE` of the device, or of each device in turn: "+sizeHelp)
	f.StringSliceVar(&r.AttachTo, "attach-to", nil, "`NODES` on which it would be used")
	f.Int32Var(&r.Alternatives, "alternatives", 0, "tell of `N` candidates for each replica (default all)")
	f.StringVar(&file, "cases", "", "`FILE` of cases, one JSON object a line; - is standard input")
	complete(c, "class", a.completeNames("class"))
	complete(c, "attach-to", a.completeNames("node"))
	complete(c, "size", cobra.NoFileCompletions)
	return c
}

func (a *app) planVolume(ctx context.Context, r *adminv1.PlanPlacementRequest) error {
	r.Stale = a.flags.stale
	d, err := adminv1.NewPlansClient(a.client).Placement(ctx, r)
	if err != nil {
		return err
	}
	if a.flags.structured() {
		err = a.write(objectOf(d))
	} else {
		if _, err = fmt.Fprintf(a.env.Stdout, "Each copy takes %s, DRBD metadata included.\n\n", humanSize(d.GetSize())); err == nil {
			err = a.writeDecision(d)
		}
	}
	if err != nil || d.GetPlaced() {
		return err
	}
	for _, replica := range d.GetReplicas() {
		if replica.GetNode() == "" {
			return &failure{
				code: exitNoSpace, what: fmt.Sprintf("plan placement: replica %d has no place: %s", replica.GetId(), replica.GetMessage()),
				next: "Such a volume would wait until there is one.",
			}
		}
	}
	return nil
}
