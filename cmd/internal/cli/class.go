package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) classCommand() *cobra.Command {
	n := a.classes()
	return a.group("class", "Policies of volumes", n.listCommand(), n.showCommand(), a.classCreate(), a.classSet(),
		a.deleteCommand("class", "Delete a class that no volume uses",
			func(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
				return adminv1.NewClassesClient(a.client).Delete(ctx, r)
			}))
}

func (a *app) classes() noun[*adminv1.Class] {
	type class = *adminv1.Class
	return noun[class]{
		app: a, kind: "class", reads: []string{"class", "class.status", "volume"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]class, error) {
			r, err := adminv1.NewClassesClient(a.client).List(ctx, q)
			return r.GetClasses(), err
		},
		columns: []column[class]{
			{head: "NAME", cell: func(c class) string { return c.GetMeta().GetName() }},
			{head: "FTT", cell: func(c class) string { return number(c.GetFtt()) }},
			{head: "GMDR", cell: func(c class) string { return number(c.GetGmdr()) }},
			{head: "LAYOUT", cell: class.GetLayout},
			{head: "TOPOLOGY", cell: class.GetTopology},
			{head: "ACCESS", wide: true, cell: class.GetVolumeAccess},
			{head: "POOL", cell: class.GetPoolName},
			{head: "VOLUMES", cell: func(c class) string { return number(c.GetVolumes().GetTotal()) }},
			{head: "ALIGNED", wide: true, cell: func(c class) string { return maybeNumber(counts(c).Aligned) }},
			{head: "STALE", wide: true, cell: func(c class) string { return maybeNumber(counts(c).StaleConfiguration) }},
			{head: "IN CONFLICT", wide: true, cell: func(c class) string { return number(c.GetVolumes().GetInConflictWithEligibleNodes()) }},
			{head: "PENDING", wide: true, cell: func(c class) string { return number(c.GetVolumes().GetPendingObservation()) }},
			{head: "USED POOLS", wide: true, cell: func(c class) string { return strings.Join(c.GetVolumes().GetUsedPools(), ",") }},
			{head: "GENERATION", wide: true, cell: func(c class) string { return number(c.GetMeta().GetGeneration()) }},
			{head: "IN FORCE", wide: true, cell: func(c class) string { return number(c.GetConfigurationGeneration()) }},
			{head: "ROLLOUT", wide: true, cell: func(c class) string { return atATime(c.GetRollout(), c.GetRolloutMaxParallel()) }},
			{head: "CONFLICT", wide: true, cell: func(c class) string { return atATime(c.GetConflict(), c.GetConflictMaxParallel()) }},
			{head: "REPAIR AFTER", wide: true, cell: func(c class) string { return duration(c.GetRepairAfter()) }},
			{head: "ON NO QUORUM", wide: true, cell: class.GetOnNoQuorum},
			{head: "WIPE", wide: true, cell: class.GetWipe},
			{head: "VERIFY EVERY", wide: true, cell: func(c class) string { return duration(c.GetVerifyEvery()) }},
			{head: "STORAGE", wide: true, cell: func(c class) string { return storageText(c.GetStorage()) }},
			{head: "ZONES", wide: true, cell: func(c class) string { return strings.Join(c.GetZones(), ",") }},
			{head: "NODE SELECTOR", wide: true, cell: class.GetNodeSelector},
			{head: "NETWORKS", wide: true, cell: func(c class) string { return strings.Join(c.GetSystemNetworks(), ",") }},
			{head: "NOT READY GRACE", wide: true, cell: func(c class) string { return duration(c.GetNotReadyGrace()) }},
			{head: "DRBD OPTIONS", wide: true, cell: func(c class) string { return pairs(c.GetDrbd()) }},
		},
		more: func(c class) []section { return []section{conditions(c.GetConditions())} },
	}
}

// counts are a class's volume statistics; all unknown before the class was first looked at.
func counts(c *adminv1.Class) *adminv1.VolumeCounts {
	if v := c.GetVolumes(); v != nil {
		return v
	}
	return &adminv1.VolumeCounts{}
}

// atATime names a strategy and how many volumes it changes at a time: "RollingUpdate(5)".
func atATime(strategy string, most int32) string {
	if most == 0 || strategy == "NewVolumesOnly" || strategy == "Manual" {
		return strategy
	}
	return fmt.Sprintf("%s(%d)", strategy, most)
}

// maybeNumber is "" for a count that is not known.
func maybeNumber(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

func (a *app) classCreate() *cobra.Command {
	r, s := &adminv1.Class{Meta: &adminv1.Meta{}}, storageFlags{}
	var policy policyFlags
	var labels []string
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a class of volumes", Args: args("NAME"),
		Long: `Make a class of volumes. --ftt says how many failures a volume outlives without interruption, --gmdr how many it outlives
without loss of data. Together they decide how many copies there are: FTT + GMDR + 1.`,
		Example:           "  rvol class create r2 --ftt 1 --gmdr 0 --type LVMThin --vg vg0 --thin-pool tp0\n  rvol class create fast3 --ftt 1 --gmdr 1 --pool fast",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) (err error) {
			if err := policy.check(c); err != nil {
				return err
			}
			f := c.Flags()
			if !f.Changed("replication") && (!f.Changed("ftt") || !f.Changed("gmdr")) {
				return usage("class %s: say what its volumes outlive, with --ftt and --gmdr, or --replication", args[0])
			}
			if r.Meta.Labels, err = parsePairs("label", labels); err != nil {
				return err
			}
			if r.Drbd, err = parsePairs("drbd", policy.drbd); err != nil {
				return err
			}
			r.Meta.Name, r.Storage, r.Zones, r.NodeSelector = args[0], s.given(), s.zones, s.nodes
			r.SystemNetworks, r.NotReadyGrace = s.networks, positive(s.grace)
			policy.create(c, r)
			made, err := adminv1.NewClassesClient(a.client).Create(ctx, r)
			if err != nil {
				return err
			}
			return a.changed("class", args[0], made, "created: layout %s", dash(made.GetLayout()))
		}),
	}
	a.placeFlags(c, r)
	s.on(c)
	policy.on(c)
	pairFlag(c, &labels, "label", "a label")
	return c
}

// placeFlags say by what volumes of a class are placed.
func (a *app) placeFlags(c *cobra.Command, r *adminv1.Class) {
	f := c.Flags()
	f.StringVar(&r.Topology, "topology", "", "Ignored, Zonal or TransZonal: what zones mean (default Ignored)")
	f.StringVar(&r.VolumeAccess, "volume-access", "", "Any, Local or PreferablyLocal: from where volumes may be used")
	f.StringVar(&r.Pool, "pool", "", "a named pool, instead of --type and --vg")
	f.BoolVar(&r.TrustZeroed, "trust-zeroed", false, "thick volume groups are known to read zeros: skip the first full copy")
	complete(c, "topology", fixed("Ignored", "Zonal", "TransZonal"))
	complete(c, "volume-access", fixed("Any", "Local", "PreferablyLocal"))
	complete(c, "pool", a.completeNames("pool"))
}

func (a *app) classSet() *cobra.Command {
	var policy policyFlags
	var labels labelFlags
	var s storageFlags
	ownStorage, place := false, &adminv1.Class{}
	c := &cobra.Command{
		Use: "set NAME", Short: "Change a class, and by its rollout its volumes", Args: args("NAME"),
		Long: `Change a class, and by its rollout its volumes. What volumes were placed by stays as it is for good, and another value is
refused: topology, storage, zones, volume access, node selector, networks, grace.

With --own-storage a class with a named pool takes over what that pool is made of: it gets a pool of its own, or shares one
with classes that are made the same way, and the named pool is free. No data moves.`,
		ValidArgsFunction: a.completeEach("class"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) (err error) {
			if err := someFlag(c); err != nil {
				return err
			}
			if err := policy.check(c); err != nil {
				return err
			}
			r := policy.set(c)
			r.Name, r.OwnStorage = args[0], ownStorage
			s.set(c, r, place)
			if r.Labels, err = labels.change(); err != nil {
				return err
			}
			if r.Drbd, err = parsePairs("drbd", policy.drbd); err != nil {
				return err
			}
			changed, err := adminv1.NewClassesClient(a.client).Set(ctx, r)
			if err != nil {
				return err
			}
			return a.changed("class", args[0], changed, "changed")
		}),
	}
	policy.on(c)
	labels.on(c)
	a.placeFlags(c, place)
	s.on(c)
	c.Flags().BoolVar(&ownStorage, "own-storage", false, "take over what the named pool is made of, and leave it")
	return c
}

func fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}
