package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) nodeLost() *cobra.Command {
	ok, stale := consent{app: a}, false
	c := &cobra.Command{
		Use: "lost NAME", Short: "Say that a node never comes back: its replicas are given up for good",
		Long: `Say that a node is off and never comes back. This is fence, and besides its replicas are given up: nobody waits for them.
A replica that is the last copy known to be UpToDate is kept, and told. To have copies again: rvol replica add.`,
		Args: args("NAME"), ValidArgsFunction: a.completeEach("node"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			if err := ok.ask(c, args[0], "gives up for good what the node alone holds, and loses data if it is still on"); err != nil {
				return err
			}
			got, err := adminv1.NewNodesClient(a.client).Lost(ctx, &adminv1.FenceNodeRequest{Name: args[0], Confirm: args[0], AcceptStale: stale})
			if err != nil {
				return err
			}
			for _, k := range got.GetKept() {
				a.note("replica %s is kept: %s", k.GetName(), k.GetMessage())
			}
			text := "lost"
			if list := got.GetGivenUp(); len(list) > 0 {
				text += "; given up: " + strings.Join(list, ", ")
			}
			return a.changed("node", args[0], got, "%s", text)
		}),
	}
	ok.nameFlag(c)
	c.Flags().BoolVar(&stale, "accept-stale", false, "let a replica take over even if it lacks writes that this node acknowledged: they are lost")
	return c
}

func (a *app) nodeDrain() *cobra.Command {
	r, wait := &adminv1.DrainNodeRequest{}, false
	c := &cobra.Command{
		Use: "drain NAME", Short: "Cordon a node and move its copies elsewhere",
		Long: `Cordon a node, and move every copy that it holds elsewhere: each new one is made and filled before the old one goes. Volumes
that are used there are not detached: they stay, and are told. Called again it goes on, and who interrupts --wait ends the
waiting alone. --cancel begins no more, goes back from moves whose old copy has not begun to leave, and lets the node be
used again. On DRBD 8.4 the old copy goes first, which has to be accepted.`,
		Args: args("NAME"), ValidArgsFunction: a.completeEach("node"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			r.Name = args[0]
			if !wait || r.GetCancel() {
				got, err := a.drain(ctx, r)
				return a.drained(r, got, err)
			}
			return a.untilDrained(ctx, r)
		}),
	}
	c.Flags().BoolVar(&r.AcceptSingleCopy, "accept-single-copy", false, "on DRBD 8.4: go on with one copy until the new one is filled")
	c.Flags().BoolVar(&r.Cancel, "cancel", false, "begin no more, go back where that is safe, and let the node be used again")
	waitFlag(c, &wait, "nothing of what can leave is left")
	return c
}

func (a *app) drain(ctx context.Context, r *adminv1.DrainNodeRequest) (*adminv1.DrainNodeResponse, error) {
	return adminv1.NewNodesClient(a.client).Drain(ctx, r)
}

func (a *app) untilDrained(ctx context.Context, r *adminv1.DrainNodeRequest) error {
	told := map[string]string{}
	for turn := 0; ; turn++ {
		a.client.turn(turn) // the same call again, to go on
		got, err := a.drain(ctx, r)
		if err != nil && !comesBack(err) {
			return err
		}
		if err == nil && len(got.GetBegun()) == 0 {
			return a.drained(r, got, nil)
		}
		for _, b := range got.GetBegun() {
			if told[b.GetName()] != b.GetMessage() {
				a.note("%s: %s", b.GetName(), b.GetMessage())
				told[b.GetName()] = b.GetMessage()
			}
		}
		sleep(ctx, interval)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// drained says what is on its way and what stays.
func (a *app) drained(r *adminv1.DrainNodeRequest, got *adminv1.DrainNodeResponse, err error) error {
	if err != nil {
		return err
	}
	if !a.flags.structured() {
		t := table{heads: []string{"REPLICA", "IT", "HOW FAR, OR WHY"}}
		for _, b := range got.GetBegun() {
			t.rows = append(t.rows, []string{b.GetName(), "leaves", b.GetMessage()})
		}
		for _, l := range got.GetLeft() {
			t.rows = append(t.rows, []string{l.GetName(), "stays", l.GetMessage()})
		}
		if len(t.rows) > 0 {
			if err := t.write(a.env.Stdout); err != nil {
				return err
			}
		}
	}
	text := fmt.Sprintf("is being drained: %d of its replicas leave, %d stay", len(got.GetBegun()), len(got.GetLeft()))
	if len(got.GetBegun())+len(got.GetLeft()) == 0 {
		text = "is empty"
	}
	if r.GetCancel() {
		text = "is drained no more"
	}
	return a.changed("node", r.GetName(), got, "%s", text)
}

func (a *app) retryCommand(noun, use string, request func(name string) *adminv1.RetryRequest) *cobra.Command {
	return &cobra.Command{
		Use: "retry " + use, Short: "Try again at once what was given up", Args: args(use), ValidArgsFunction: a.completeEach(noun),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			done, err := adminv1.NewReplicasClient(a.client).Retry(ctx, request(args[0]))
			if err != nil {
				return err
			}
			return a.changed(noun, args[0], done, "%s", done.GetMessage())
		}),
	}
}
