package cli

import (
	"context"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

// deleted answers a delete.
func (a *app) deleted(kind, name string, done *adminv1.Done, err error) error {
	if err != nil {
		return err
	}
	text := done.GetMessage()
	if text == "" {
		text = "deleted"
	}
	return a.changed(kind, name, done, "%s", text)
}

// deleteCommand makes the delete of an object whose going destroys nothing: the server refuses it while it is used.
func (a *app) deleteCommand(kind, short string, call func(context.Context, *adminv1.DeleteRequest) (*adminv1.Done, error)) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: short, Args: args("NAME"),
		ValidArgsFunction: a.completeEach(kind),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			done, err := call(ctx, &adminv1.DeleteRequest{Name: args[0]})
			return a.deleted(kind, args[0], done, err)
		}),
	}
}
