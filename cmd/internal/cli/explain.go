package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) explainCommand() *cobra.Command {
	return a.group("explain", "Say why something is as it is", a.explainVolume(), a.explainClass(), a.explainPool())
}

func (a *app) explainVolume() *cobra.Command {
	return &cobra.Command{
		Use: "volume NAME", Short: "Say why a volume's replicas are where they are, and what else there was", Args: args("NAME"),
		ValidArgsFunction: a.completeEach("volume"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			e, err := adminv1.NewPlansClient(a.client).ExplainVolume(ctx, &adminv1.ExplainVolumeRequest{Name: args[0], Stale: a.flags.stale})
			if err != nil {
				return err
			}
			if a.flags.structured() {
				return a.write(objectOf(e))
			}
			return a.writeExplanation(e)
		}),
	}
}

func (a *app) writeExplanation(e *adminv1.VolumeExplanation) error {
	now := table{heads: []string{"REPLICA", "TYPE", "PLACE", "REASON", "MESSAGE"}, paint: a.paints()}
	for _, r := range e.GetNow() {
		now.rows = append(now.rows, []string{
			fmt.Sprintf("%s/%d", e.GetVolume(), r.GetId()), r.GetType(), dash(placeOf(r)), dash(r.GetReason()), dash(r.GetMessage()),
		})
	}
	if err := now.write(a.env.Stdout); err != nil {
		return err
	}
	if err := a.writePending(e); err != nil {
		return err
	}
	if err := a.writeDecisions(e); err != nil {
		return err
	}
	if len(e.GetEvents()) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(a.env.Stdout, "\nThe newest events of %s; all of them: rvol event list --volume %s\n", e.GetVolume(), e.GetVolume()); err != nil {
		return err
	}
	return a.eventTable(e.GetEvents()).write(a.env.Stdout)
}

// writeDecisions tells of the decisions that are kept, or that there is none.
func (a *app) writeDecisions(e *adminv1.VolumeExplanation) error {
	if len(e.GetDecisions()) == 0 {
		a.note("No decision about %s is kept.", e.GetVolume())
	}
	for _, d := range e.GetDecisions() {
		what := "could not place it"
		if d.GetPlaced() {
			what = "placed it"
		}
		_, err := fmt.Fprintf(a.env.Stdout, "\nEntry %d, %s, %s; each copy takes %s:\n", d.GetEntry(), when(d.GetAt()), what, humanSize(d.GetSize()))
		if err == nil {
			err = a.writeDecision(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writePending tells what the replicas ask of the mesh; nothing: they ask nothing.
func (a *app) writePending(e *adminv1.VolumeExplanation) error {
	if len(e.GetPending()) == 0 {
		return nil
	}
	asked := a.pending(e.GetVolume(), e.GetPending())
	if _, err := fmt.Fprintf(a.env.Stdout, "\n%s\n", asked.title); err != nil {
		return err
	}
	return asked.table.write(a.env.Stdout)
}
