package cli

import (
	"context"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) operationCommand() *cobra.Command {
	n := a.operations()
	return a.group("operation", "One-off commands on nodes", n.listCommand(), n.showCommand())
}

func (a *app) operations() noun[*adminv1.Operation] {
	type operation = *adminv1.Operation
	return noun[operation]{
		app: a, kind: "operation", filters: []string{"node", "volume"}, reads: []string{"operation"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]operation, error) {
			r, err := adminv1.NewOperationsClient(a.client).List(ctx, q)
			return r.GetOperations(), err
		},
		columns: []column[operation]{
			{head: "NAME", cell: func(o operation) string { return o.GetMeta().GetName() }},
			{head: "TYPE", cell: operation.GetType},
			{head: "NODE", cell: operation.GetNode},
			{head: "VOLUME", cell: operation.GetVolume},
			{head: "REPLICA", wide: true, cell: func(o operation) string {
				if o.GetVolume() == "" {
					return ""
				}
				return number(o.GetReplica())
			}},
			{head: "PHASE", cell: operation.GetPhase},
			{head: "AGE", cell: func(o operation) string { return a.age(o.GetMeta().GetCreatedAt()) }},
			{head: "DONE", wide: true, cell: func(o operation) string { return when(o.GetDoneAt()) }},
			{head: "RESULT", cell: operation.GetResult},
		},
	}
}
