package cli

import (
	"context"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

const reconcileLong = `After the state was restored from a snapshot, or recovered from one coordinator, nothing is removed, demoted, resized or
adjusted, and no number is given out, until every node has reported what it holds, or was set aside by name, and the
operator has accepted the differences. Without --accept they are shown.`

func (a *app) clusterReconcile() *cobra.Command {
	r := &adminv1.ReconcileRequest{}
	ok := consent{app: a}
	c := &cobra.Command{
		Use: "reconcile", Short: "Compare the nodes with a restored state, and accept it", Long: reconcileLong, Args: args(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, c *cobra.Command, _ []string) error {
			client := adminv1.NewClusterClient(a.client)
			is, err := client.Reconcile(ctx, &adminv1.ReconcileRequest{SetAside: r.GetSetAside(), Stale: a.flags.stale})
			if err != nil || !r.GetAccept() || !is.GetReconciling() {
				return a.showReconciliation(is, err)
			}
			if !a.flags.structured() {
				if err := a.showReconciliation(is, nil); err != nil {
					return err
				}
			}
			if err := ok.ask(c, a.clusterName(ctx), "makes the state as it is binding for all nodes"); err != nil {
				return err
			}
			r.Digest = is.GetDigest()
			done, err := client.Reconcile(ctx, r)
			if err != nil {
				return err
			}
			return a.changed("cluster", a.clusterName(ctx), done, "accepted: nodes follow the state again")
		}),
	}
	c.Flags().BoolVar(&r.Accept, "accept", false, "make the state binding, after showing the differences")
	c.Flags().StringArrayVar(&r.SetAside, "set-aside", nil, "do not wait for the report of this `NODE`; may be given several times")
	complete(c, "set-aside", a.completeNames("node"))
	ok.nameFlag(c)
	return c
}

func (a *app) showReconciliation(is *adminv1.Reconciliation, err error) error {
	switch {
	case err != nil:
		return err
	case a.flags.structured():
		return a.write(objectOf(is))
	}
	state := "no: nodes follow the state"
	if is.GetReconciling() {
		state = "yes: nothing is removed, demoted, resized or given out until it is accepted"
	}
	facts := table{paint: a.paints(), rows: [][]string{
		{"RECONCILING", state}, {"STATE", dash(is.GetRestored())}, {"INCARNATION", number(is.GetIncarnation())},
	}}
	nodes := table{paint: a.paints(), heads: []string{"NODE", "REPORT", "WAITS FOR"}}
	for _, n := range is.GetNodes() {
		nodes.rows = append(nodes.rows, []string{n.GetName(), n.GetState(), dash(n.GetMessage())})
	}
	return a.tables(facts, nodes, a.differenceTable(is.GetDifferences()))
}

// tables writes those that have rows, with a line between them.
func (a *app) tables(all ...table) error {
	for i, t := range all {
		if len(t.rows) == 0 {
			continue
		}
		if i > 0 {
			if _, err := a.env.Stdout.Write([]byte("\n")); err != nil {
				return err
			}
		}
		if err := t.write(a.env.Stdout); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) differenceTable(all []*adminv1.StateDifference) table {
	t := table{paint: a.paints(), heads: []string{"DIFFERENCE", "NODE", "OBJECT", "WHAT", "THEN"}}
	for _, d := range all {
		t.rows = append(t.rows, []string{d.GetKind(), dash(d.GetNode()), d.GetObject(), d.GetMessage(), d.GetThen()})
	}
	return t
}

// clusterName is what is typed to confirm what concerns all of it; empty: nobody answers.
func (a *app) clusterName(ctx context.Context) string {
	s, err := a.status(quietly(ctx))
	if err != nil {
		return ""
	}
	return s.GetId()
}
