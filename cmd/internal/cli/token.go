package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) tokenCommand() *cobra.Command {
	n := a.tokens()
	return a.group("token", "Permissions to join, for nodes and coordinators", n.listCommand(), a.tokenCreate(),
		a.deleteCommand("token", "Take back a token that was not used yet",
			func(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
				return adminv1.NewTokensClient(a.client).Delete(ctx, r)
			}))
}

func (a *app) tokens() noun[*adminv1.Token] {
	type token = *adminv1.Token
	return noun[token]{
		app: a, kind: "token", reads: []string{"token"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]token, error) {
			r, err := adminv1.NewTokensClient(a.client).List(ctx, q)
			return r.GetTokens(), err
		},
		columns: []column[token]{
			{head: "NAME", cell: func(t token) string { return t.GetMeta().GetName() }},
			{head: "KIND", cell: token.GetKind},
			{head: "FOR", cell: token.GetSubject},
			{head: "STATE", cell: a.tokenState},
			{head: "EXPIRES", wide: true, cell: func(t token) string { return when(t.GetExpiresAt()) }},
			{head: "AGE", cell: func(t token) string { return a.age(t.GetMeta().GetCreatedAt()) }},
		},
	}
}

func (a *app) tokenState(t *adminv1.Token) string {
	left := t.GetExpiresAt().AsTime().Sub(a.env.Now())
	switch {
	case t.GetRedeemed():
		return "redeemed"
	case left <= 0:
		return "expired"
	default:
		return "valid for " + short(left)
	}
}

func (a *app) tokenCreate() *cobra.Command {
	var name string
	var ttl time.Duration
	c := &cobra.Command{
		Use: "create node|coordinator", Short: "Make a token with which one machine may join",
		Args:              args("node or coordinator"),
		Example:           "  rvol token create node --name n4",
		ValidArgsFunction: fixed("node", "coordinator"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if args[0] != "node" && args[0] != "coordinator" {
				return usage("token create %s: want node or coordinator", args[0])
			}
			made, err := adminv1.NewTokensClient(a.client).Create(ctx,
				&adminv1.CreateTokenRequest{Kind: args[0], Subject: name, Ttl: positive(ttl)})
			if err != nil {
				return err
			}
			if a.flags.structured() {
				return a.write(objectOf(made))
			}
			a.note("It is shown only now, can be used once, and is %s.", a.tokenState(made.GetToken()))
			_, err = fmt.Fprintln(a.env.Stdout, made.GetText())
			return err
		}),
	}
	c.Flags().StringVar(&name, "name", "", "only the machine of this name may use it")
	c.Flags().DurationVar(&ttl, "ttl", 0, "how long it may be used, at most 24h (default 15m)")
	return c
}
