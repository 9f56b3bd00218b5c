package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) nodeCommand() *cobra.Command {
	n := a.nodes()
	return a.group("node", "Machines with an agent", n.listCommand(), n.showCommand(), a.nodeSet(),
		a.nodeCordon("cordon", "Place nothing new on a node", true),
		a.nodeCordon("uncordon", "Place replicas on a node again", false),
		a.nodeDrain(), a.nodeFence(), a.nodeUnfence(), a.nodeLost(), a.nodeDelete())
}

func (a *app) nodes() noun[*adminv1.Node] {
	return noun[*adminv1.Node]{
		app: a, kind: "node",
		reads: []string{"node", "node.status", "replica"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]*adminv1.Node, error) {
			r, err := adminv1.NewNodesClient(a.client).List(ctx, q)
			return r.GetNodes(), err
		},
		columns: []column[*adminv1.Node]{
			{head: "NAME", cell: func(n *adminv1.Node) string { return n.GetMeta().GetName() }},
			{head: "STATE", cell: nodeState},
			{head: "ZONE", cell: (*adminv1.Node).GetZone},
			{head: "ADDRESS", cell: func(n *adminv1.Node) string { return addresses(n.GetAddresses()) }},
			{head: "DRBD", cell: (*adminv1.Node).GetDrbd},
			{head: "LVM", wide: true, cell: (*adminv1.Node).GetLvm},
			{head: "REPLICAS", cell: func(n *adminv1.Node) string { return number(n.GetReplicas()) }},
			{head: "KERNEL", wide: true, cell: (*adminv1.Node).GetKernel},
			{head: "HEALTH", wide: true, cell: (*adminv1.Node).GetHealth},
			{head: "AGENT", wide: true, cell: (*adminv1.Node).GetAgentVersion},
			{head: "CONNECTED", wide: true, cell: func(n *adminv1.Node) string { return yes(n.GetConnected()) }},
			{head: "SINCE", cell: func(n *adminv1.Node) string { return a.age(n.GetStatusUpdatedAt()) }},
			{head: "REASON", wide: true, cell: (*adminv1.Node).GetStatusReason},
			{head: "UPDATED BY", wide: true, cell: (*adminv1.Node).GetStatusUpdatedBy},
			{head: "UPDATED AT", wide: true, cell: func(n *adminv1.Node) string { return when(n.GetStatusUpdatedAt()) }},
		},
		more: nodeSections,
	}
}

// nodeState is Ready or NotReady, and what the operator said besides.
func nodeState(n *adminv1.Node) string {
	state := "NotReady"
	if n.GetReady() {
		state = "Ready"
	}
	if n.GetFenced() {
		state = "fenced," + state
	}
	if n.GetUnschedulable() {
		state += ",cordoned"
	}
	return state
}

// addresses leaves out the network's name when it is the usual one.
func addresses(m map[string]string) string {
	if only, ok := m["default"]; ok && len(m) == 1 {
		return only
	}
	return pairs(m)
}

func nodeSections(n *adminv1.Node) []section {
	vgs := table{heads: []string{"VG", "THIN POOL", "SIZE", "FREE", "DATA", "METADATA", "OFFERED"}}
	for _, vg := range n.GetVgs() {
		vgs.rows = append(vgs.rows, []string{
			vg.GetName(), "-", humanSize(vg.GetSize()), humanSize(vg.GetFree()), "-", "-", yes(vg.GetOffered()),
		})
		for _, tp := range vg.GetThinPools() {
			vgs.rows = append(vgs.rows, []string{
				vg.GetName(), tp.GetName(), humanSize(tp.GetSize()), "-",
				percent(tp.GetDataPercent()), percent(tp.GetMetadataPercent()), yes(tp.GetOffered()),
			})
		}
	}
	return []section{{"Volume groups", vgs}, conditions(n.GetConditions())}
}

func (a *app) nodeSet() *cobra.Command {
	var zone string
	var labels labelFlags
	c := &cobra.Command{
		Use: "set NAME", Short: "Change a node's zone and labels", Args: args("NAME"),
		ValidArgsFunction: a.completeEach("node"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			change, err := labels.change()
			if err != nil {
				return err
			}
			if err := someFlag(c); err != nil {
				return err
			}
			return a.setNode(ctx, &adminv1.SetNodeRequest{Name: args[0], Zone: given(c, "zone", zone), Labels: change}, "changed")
		}),
	}
	c.Flags().StringVar(&zone, "zone", "", "the zone it stands in")
	labels.on(c)
	return c
}

func (a *app) setNode(ctx context.Context, r *adminv1.SetNodeRequest, done string) error {
	n, err := adminv1.NewNodesClient(a.client).Set(ctx, r)
	if err != nil {
		return err
	}
	return a.changed("node", r.GetName(), n, "%s", done)
}

func (a *app) nodeCordon(verb, short string, cordoned bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Args: args("NAME"),
		ValidArgsFunction: a.completeEach("node"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.setNode(ctx, &adminv1.SetNodeRequest{Name: args[0], Unschedulable: &cordoned}, verb+"ed")
		}),
	}
}

func (a *app) nodeFence() *cobra.Command {
	ok, stale := consent{app: a}, false
	c := &cobra.Command{
		Use: "fence NAME", Short: "Say that a node is off or cut from its storage network, so that others may take over",
		Long: `Say that a node is off, or cut from its storage network. This is your word, which nobody can check: its attachments end,
and other replicas of its volumes may become Primary. If the node still writes, data is lost.`,
		Args: args("NAME"), ValidArgsFunction: a.completeEach("node"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			if err := ok.ask(c, args[0], "lets others take over what runs there, and loses data if it is still on"); err != nil {
				return err
			}
			return a.fence(ctx, &adminv1.FenceNodeRequest{Name: args[0], Confirm: args[0], AcceptStale: stale})
		}),
	}
	ok.nameFlag(c)
	c.Flags().BoolVar(&stale, "accept-stale", false, "let a replica take over even if it lacks writes that this node acknowledged: they are lost")
	return c
}

func (a *app) nodeUnfence() *cobra.Command {
	return &cobra.Command{
		Use: "unfence NAME", Short: "Take back the word that a node is off", Args: args("NAME"),
		ValidArgsFunction: a.completeEach("node"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.fence(ctx, &adminv1.FenceNodeRequest{Name: args[0], Confirm: args[0], Undo: true})
		}),
	}
}

func (a *app) fence(ctx context.Context, r *adminv1.FenceNodeRequest) error {
	answer, err := adminv1.NewNodesClient(a.client).Fence(ctx, r)
	if err != nil {
		return err
	}
	text := "fenced"
	if r.GetUndo() {
		text = "no longer fenced"
	}
	if list := answer.GetReleased(); len(list) > 0 {
		text += fmt.Sprintf("; released: %s", strings.Join(list, ", "))
	}
	return a.changed("node", r.GetName(), answer, "%s", text)
}

func (a *app) nodeDelete() *cobra.Command {
	ok := consent{app: a}
	c := &cobra.Command{
		Use: "delete NAME", Short: "Remove a node that holds nothing", Args: args("NAME"),
		ValidArgsFunction: a.completeEach("node"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			if err := ok.ask(c, args[0], "removes the node from the cluster; its agent must join again to come back"); err != nil {
				return err
			}
			done, err := adminv1.NewNodesClient(a.client).Delete(ctx, &adminv1.DeleteRequest{Name: args[0], Confirm: args[0]})
			return a.deleted("node", args[0], done, err)
		}),
	}
	ok.nameFlag(c)
	return c
}
