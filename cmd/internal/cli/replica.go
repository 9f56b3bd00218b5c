package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) replicaCommand() *cobra.Command {
	n := a.replicas()
	return a.group("replica", "The parts of volumes on nodes", n.listCommand(), n.showCommand(),
		a.replicaAdd(), a.replicaMove(), a.replicaSet(), a.replicaRemove(),
		a.retryCommand("replica", "VOLUME/ID", func(name string) *adminv1.RetryRequest { return &adminv1.RetryRequest{Replica: name} }))
}

func (a *app) replicas() noun[*adminv1.Replica] {
	type replica = *adminv1.Replica
	return noun[replica]{
		app: a, kind: "replica", filters: []string{"node", "volume"},
		reads: []string{"replica", "volume.status", "reservation", "node", "node.status"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]replica, error) {
			r, err := adminv1.NewReplicasClient(a.client).List(ctx, q)
			return r.GetReplicas(), err
		},
		columns: []column[replica]{
			{head: "NAME", cell: func(r replica) string { return r.GetMeta().GetName() }},
			{head: "TYPE", cell: replica.GetType},
			{head: "NODE", cell: replica.GetNode},
			{head: "STORAGE", cell: func(r replica) string { return strings.TrimSuffix(r.GetVg()+"/"+r.GetThinPool(), "/") }},
			{head: "DISK", cell: replica.GetDisk},
			{head: "ROLE", cell: replica.GetRole},
			{head: "CONNECTION", cell: replica.GetConnection},
			{head: "SYNC", cell: func(r replica) string { return maybePercent(r.SyncPercent) }},
			{head: "PORT", wide: true, cell: func(r replica) string { return nonZero(r.GetPort()) }},
			{head: "MINORS", wide: true, cell: minors},
			{head: "OPEN", wide: true, cell: func(r replica) string { return yes(r.GetOpen()) }},
			{head: "DEVICE", wide: true, cell: replica.GetDevice},
		},
		more: func(r replica) []section { return []section{conditions(r.GetConditions())} },
	}
}

func nonZero(n int32) string {
	if n == 0 {
		return ""
	}
	return number(n)
}

func minors(r *adminv1.Replica) string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(r.GetMinors()), "[]")), ",")
}
