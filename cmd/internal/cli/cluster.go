package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) clusterCommand() *cobra.Command {
	return a.group("cluster", "The coordinators", a.clusterStatus(), a.clusterMembers(), a.clusterAdd(), a.clusterRemove(), a.clusterTransfer(),
		a.clusterCheck(), a.clusterReconcile(), a.clusterRecover(),
		a.group("snapshot", "The whole state of the coordinators, as a file", a.snapshotSave(), a.snapshotInspect(), a.snapshotRestore()))
}

func (a *app) status(ctx context.Context) (*adminv1.ClusterStatus, error) {
	return adminv1.NewClusterClient(a.client).Status(ctx, &adminv1.ClusterStatusRequest{Stale: a.flags.stale})
}

// members lists their names.
func (a *app) members(ctx context.Context) ([]string, error) {
	s, err := adminv1.NewClusterClient(a.client).Status(ctx, &adminv1.ClusterStatusRequest{Stale: true})
	var names []string
	for _, m := range s.GetMembers() {
		names = append(names, m.GetName())
	}
	return names, err
}

func (a *app) clusterStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show how the coordinators are", Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			s, err := a.status(ctx)
			if err != nil {
				return err
			}
			if a.flags.structured() {
				return a.write(objectOf(s))
			}
			facts := table{paint: a.paints(), rows: [][]string{
				{"CLUSTER", s.GetId()},
				{"LEADER", leader(s)},
				{"TERM", number(s.GetTerm())},
				{"INDEX", number(s.GetAppliedIndex()) + " applied, " + number(s.GetCommitIndex()) + " committed"},
				{"FORMAT", number(s.GetFormat())},
				{"INCARNATION", number(s.GetIncarnation())},
				{"STATE HASH", dash(s.GetStateHash())},
				{"ANSWERED BY", dash(s.GetAnsweredBy())},
			}}
			if s.GetReconciling() {
				facts.rows = append(facts.rows, []string{"RECONCILING", "yes: nothing is removed or given out until it is accepted"})
			}
			if err := facts.write(a.env.Stdout); err != nil {
				return err
			}
			if _, err := a.env.Stdout.Write([]byte("\n")); err != nil {
				return err
			}
			return a.memberTable(s.GetMembers()).write(a.env.Stdout)
		}),
	}
}

func leader(s *adminv1.ClusterStatus) string {
	if s.GetLeader() == "" {
		return "none; last heard of one " + dash(duration(s.GetLeaderContact())) + " ago"
	}
	return s.GetLeader()
}

func memberHeads() []string {
	return []string{"MEMBER", "ROLE", "RAFT", "API", "VERSION", "CONDITIONS"}
}

func (a *app) memberTable(members []*adminv1.Member) table {
	t := table{paint: a.paints(), heads: memberHeads()}
	for _, m := range members {
		role := "follower"
		switch {
		case m.GetLeader():
			role = "leader"
		case !m.GetVoter():
			role = "non-voter"
		}
		var wrong []string
		for _, c := range m.GetConditions() {
			if c.GetStatus() != "True" {
				wrong = append(wrong, c.GetType()+": "+c.GetMessage())
			}
		}
		t.rows = append(t.rows, []string{
			m.GetName(), role, m.GetRaftAddr(), m.GetApiAddr(), dash(m.GetVersion()), dash(strings.Join(wrong, "; ")),
		})
	}
	return t
}

func (a *app) clusterMembers() *cobra.Command {
	return &cobra.Command{
		Use: "members", Short: "List the coordinators", Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			s, err := a.status(ctx)
			if err != nil {
				return err
			}
			list, names := []object{}, []string{}
			for _, m := range s.GetMembers() {
				list, names = append(list, objectOf(m)), append(names, "member/"+m.GetName())
			}
			switch {
			case a.flags.structured():
				return a.write(list)
			case a.flags.output == "name":
				_, err := a.env.Stdout.Write([]byte(strings.Join(append(names, ""), "\n")))
				return err
			}
			return a.memberTable(s.GetMembers()).write(a.env.Stdout)
		}),
	}
}

func (a *app) clusterTransfer() *cobra.Command {
	return &cobra.Command{
		Use: "transfer-leadership [MEMBER]", Short: "Let another coordinator lead",
		Args:              args("[MEMBER]"),
		ValidArgsFunction: a.completeEach("member"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			r := &adminv1.TransferLeadershipRequest{To: strings.Join(args, "")}
			done, err := adminv1.NewClusterClient(a.client).TransferLeadership(ctx, r)
			if err != nil {
				return err
			}
			text := done.GetMessage()
			if text == "" {
				text = "transferred"
			}
			return a.changed("cluster", "leadership", done, "%s", text)
		}),
	}
}

func (a *app) clusterRemove() *cobra.Command {
	ok := consent{app: a}
	c := &cobra.Command{
		Use: "remove MEMBER", Short: "Remove a coordinator from the cluster for good", Args: args("MEMBER"),
		ValidArgsFunction: a.completeEach("member"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			if err := ok.ask(c, args[0], "removes the coordinator for good; to come back it must join with a new token"); err != nil {
				return err
			}
			r := &adminv1.DeleteRequest{Name: args[0], Confirm: args[0]}
			done, err := adminv1.NewClusterClient(a.client).RemoveMember(ctx, r)
			return a.deleted("member", args[0], done, err)
		}),
	}
	ok.nameFlag(c)
	return c
}
