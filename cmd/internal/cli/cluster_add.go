package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) clusterAdd() *cobra.Command {
	var ttl time.Duration
	c := &cobra.Command{
		Use: "add MEMBER", Short: "Let a machine join as a coordinator: make its token, and say what to run there", Args: args("MEMBER"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			s, err := a.status(ctx)
			if err != nil {
				return err
			}
			var ask []string
			for _, m := range s.GetMembers() {
				if m.GetName() == args[0] {
					f := &failure{code: exitConflict, what: fmt.Sprintf("member %s: exists already", args[0])}
					f.next = "Remove it first if it was lost: `rvol cluster remove " + args[0] + "`."
					return f
				}
				ask = append(ask, "--coordinator "+m.GetApiAddr())
			}
			made, err := adminv1.NewTokensClient(a.client).Create(ctx,
				&adminv1.CreateTokenRequest{Kind: "coordinator", Subject: args[0], Ttl: positive(ttl)})
			if err != nil {
				return err
			}
			if a.flags.structured() {
				return a.write(objectOf(made))
			}
			a.note("On %s, as root; the token is shown only now, can be used once, and is %s:", args[0], a.tokenState(made.GetToken()))
			_, err = fmt.Fprintf(a.env.Stdout, "rvol-coordinator join --token %s %s --name %s --api HOST:7170 --raft HOST:7171\nsystemctl enable --now rvol-coordinator\n",
				made.GetText(), strings.Join(ask, " "), args[0])
			return err
		}),
	}
	c.Flags().DurationVar(&ttl, "ttl", 0, "how long the token may be used, at most 24h (default 15m)")
	return c
}

const recoverLong = `When the majority of the coordinators is lost for good, one of those that are left can go on alone. That is done on its
machine, with rvol-coordinator recover, while no coordinator runs; see rvol-coordinator(8), which says what may be lost. This
command tells how far those remember that still answer. As long as a majority can be brought back, do that instead.`

func (a *app) clusterRecover() *cobra.Command {
	return &cobra.Command{
		Use: "recover", Short: "Say how to go on when the majority of the coordinators is lost for good", Long: recoverLong, Args: args(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			endpoints, err := a.client.order()
			if err != nil {
				return err
			}
			t := table{paint: a.paints(), heads: []string{"COORDINATOR", "REMEMBERS UP TO", "LEADER"}}
			for _, endpoint := range endpoints {
				s, err := a.statusOf(ctx, endpoint)
				switch {
				case err != nil:
					t.rows = append(t.rows, []string{endpoint, "unknown", plain(err)})
					continue
				case s.GetLeader() != "":
					f := &failure{code: exitConflict, what: "there is a leader, " + s.GetLeader() + ": nothing is to be recovered"}
					f.next = "Remove what was lost with `rvol cluster remove`, and add others with `rvol cluster add`."
					return f
				}
				t.rows = append(t.rows, []string{s.GetAnsweredBy(), "index " + number(s.GetAppliedIndex()), "none"})
			}
			if err := t.write(a.env.Stdout); err != nil {
				return err
			}
			a.note("Stop all coordinators. On the machine of the one that remembers most, as the user rvol: rvol-coordinator recover")
			return nil
		}),
	}
}
