package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) poolCommand() *cobra.Command {
	n := a.pools()
	return a.group("pool", "Sets of volume groups or thin pools over nodes", n.listCommand(), n.showCommand(), a.poolCreate(), a.poolSet(),
		a.deleteCommand("pool", "Delete a pool that no class uses; its volume groups stay",
			func(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
				return adminv1.NewPoolsClient(a.client).Delete(ctx, r)
			}))
}

func (a *app) pools() noun[*adminv1.Pool] {
	return noun[*adminv1.Pool]{
		app: a, kind: "pool", reads: []string{"pool", "pool.status"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]*adminv1.Pool, error) {
			r, err := adminv1.NewPoolsClient(a.client).List(ctx, q)
			return r.GetPools(), err
		},
		columns: []column[*adminv1.Pool]{
			{head: "NAME", cell: func(p *adminv1.Pool) string { return p.GetMeta().GetName() }},
			{head: "TYPE", cell: func(p *adminv1.Pool) string { return p.GetStorage().GetType() }},
			{head: "STORAGE", cell: func(p *adminv1.Pool) string { return storageText(p.GetStorage()) }},
			{head: "ELIGIBLE NODES", cell: eligibleNodes},
			{head: "USED BY", cell: func(p *adminv1.Pool) string { return strings.Join(p.GetUsedBy(), ",") }},
			{head: "ZONES", wide: true, cell: func(p *adminv1.Pool) string { return strings.Join(p.GetZones(), ",") }},
			{head: "NODE SELECTOR", wide: true, cell: (*adminv1.Pool).GetNodeSelector},
			{head: "NETWORKS", wide: true, cell: func(p *adminv1.Pool) string { return strings.Join(p.GetSystemNetworks(), ",") }},
			{head: "NOT READY GRACE", wide: true, cell: func(p *adminv1.Pool) string { return duration(p.GetNotReadyGrace()) }},
			{head: "GENERATED", wide: true, cell: func(p *adminv1.Pool) string { return yes(p.GetGenerated()) }},
		},
		more: func(p *adminv1.Pool) []section { return []section{eligibleSection(p), conditions(p.GetConditions())} },
	}
}

// storageText names what a pool is made of: "vg0,vg1", "vg0/tp0", "disk=nvme".
func storageText(s *adminv1.Storage) string {
	groups := append([]string(nil), s.GetVgs()...)
	if s.GetThinPool() != "" {
		for i := range groups {
			groups[i] += "/" + s.GetThinPool()
		}
		if len(groups) == 0 {
			return s.GetSelector() + "/" + s.GetThinPool()
		}
	}
	if len(groups) == 0 {
		return s.GetSelector()
	}
	return strings.Join(groups, ",")
}

// eligibleNodes counts the nodes and those of them that could take a replica now: "2/3".
func eligibleNodes(p *adminv1.Pool) string {
	ready := 0
	for _, n := range p.GetEligibleNodes() {
		if n.GetNodeReady() && n.GetAgentReady() && !n.GetUnschedulable() {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d", ready, len(p.GetEligibleNodes()))
}

func eligibleSection(p *adminv1.Pool) section {
	t := table{heads: []string{"NODE", "ZONE", "READY", "DRBD", "VOLUME GROUPS"}}
	for _, n := range p.GetEligibleNodes() {
		var groups []string
		for _, g := range n.GetLvgs() {
			text := g.GetVg()
			if g.GetThinPool() != "" {
				text += "/" + g.GetThinPool()
			}
			if !g.GetReady() {
				text += " (not ready)"
			}
			if g.GetUnschedulable() {
				text += " (cordoned)"
			}
			groups = append(groups, text)
		}
		ready := yes(n.GetNodeReady() && n.GetAgentReady())
		if n.GetUnschedulable() {
			ready += ",cordoned"
		}
		t.rows = append(t.rows, []string{n.GetNode(), dash(n.GetZone()), ready, dash(n.GetDrbd()), dash(strings.Join(groups, ", "))})
	}
	return section{"Eligible nodes", t}
}

// storageFlags say what a pool is made of, and on which nodes.
type storageFlags struct {
	storage  adminv1.Storage
	zones    []string
	nodes    string
	networks []string
	grace    time.Duration
}

func (s *storageFlags) on(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.storage.Type, "type", "", "LVM (thick) or LVMThin")
	f.StringSliceVar(&s.storage.Vgs, "vg", nil, "a volume group by name, on every node that has it; may be repeated")
	f.StringVar(&s.storage.Selector, "selector", "", "volume groups by their labels, instead of --vg")
	f.StringVar(&s.storage.ThinPool, "thin-pool", "", "name of the thin pool in each volume group; with LVMThin")
	f.StringSliceVar(&s.zones, "zone", nil, "only nodes of this zone; may be repeated")
	f.StringVar(&s.nodes, "node-selector", "", "only nodes with these labels")
	f.StringSliceVar(&s.networks, "network", nil, "replicate over this network; may be repeated")
	f.DurationVar(&s.grace, "not-ready-grace", 0, "how long a node that is not ready stays eligible (default 10m)")
	complete(c, "type", fixed("LVM", "LVMThin"))
}

// set asks for what was given of that by which volumes are placed.
func (s *storageFlags) set(c *cobra.Command, r *adminv1.SetClassRequest, place *adminv1.Class) {
	r.Topology, r.VolumeAccess = given(c, "topology", place.GetTopology()), given(c, "volume-access", place.GetVolumeAccess())
	r.Pool, r.TrustZeroed = given(c, "pool", place.GetPool()), given(c, "trust-zeroed", place.GetTrustZeroed())
	r.Storage, r.Zones, r.NodeSelector = s.given(), s.zones, given(c, "node-selector", s.nodes)
	r.SystemNetworks, r.NotReadyGrace = s.networks, positive(s.grace)
}

// given returns the storage when a flag asked for some.
func (s *storageFlags) given() *adminv1.Storage {
	if s.storage.Type == "" && len(s.storage.Vgs) == 0 && s.storage.Selector == "" && s.storage.ThinPool == "" {
		return nil
	}
	return &s.storage
}

func (a *app) poolCreate() *cobra.Command {
	var s storageFlags
	var labels []string
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a pool of volume groups", Args: args("NAME"),
		Example:           "  rvol pool create fast --type LVMThin --vg vg0 --thin-pool tp0",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			set, err := parsePairs("label", labels)
			if err != nil {
				return err
			}
			if s.given() == nil {
				return usage("pool %s: say what it is made of, with --type and --vg or --selector", args[0])
			}
			p, err := adminv1.NewPoolsClient(a.client).Create(ctx, &adminv1.Pool{
				Meta: &adminv1.Meta{Name: args[0], Labels: set}, Storage: s.given(), Zones: s.zones, NodeSelector: s.nodes,
				SystemNetworks: s.networks, NotReadyGrace: positive(s.grace),
			})
			if err != nil {
				return err
			}
			return a.changed("pool", args[0], p, "created")
		}),
	}
	s.on(c)
	pairFlag(c, &labels, "label", "a label")
	return c
}

func (a *app) poolSet() *cobra.Command {
	var labels labelFlags
	c := &cobra.Command{
		Use: "set NAME", Short: "Change the labels of a pool", Args: args("NAME"),
		Long:              `Change the labels of a pool. What a pool is made of, and on which nodes, stays as it is for good: replicas were placed by it.`,
		ValidArgsFunction: a.completeEach("pool"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			if err := someFlag(c); err != nil {
				return err
			}
			change, err := labels.change()
			if err != nil {
				return err
			}
			p, err := adminv1.NewPoolsClient(a.client).Set(ctx, &adminv1.SetPoolRequest{Name: args[0], Labels: change})
			if err != nil {
				return err
			}
			return a.changed("pool", args[0], p, "changed")
		}),
	}
	labels.on(c)
	return c
}

// positive leaves out a duration that was not given.
func positive(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}
