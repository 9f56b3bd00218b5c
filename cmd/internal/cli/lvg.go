package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) lvgCommand() *cobra.Command {
	n := a.lvgs()
	return a.group("lvg", "Volume groups that nodes offer", n.listCommand(), n.showCommand(), a.lvgCreate(), a.lvgSet(), a.holdCommand(), a.lvgLost(),
		a.deleteCommand("lvg", "Offer a volume group no more; it stays on its node",
			func(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
				return adminv1.NewLVGsClient(a.client).Delete(ctx, r)
			}))
}

func (a *app) lvgs() noun[*adminv1.LVG] {
	return noun[*adminv1.LVG]{
		app: a, kind: "lvg", filters: []string{"node"},
		reads: []string{"lvg", "capacity", "reservation", "node", "operation"},
		list: func(ctx context.Context, q *adminv1.ListRequest) ([]*adminv1.LVG, error) {
			r, err := adminv1.NewLVGsClient(a.client).List(ctx, q)
			return r.GetLvgs(), err
		},
		columns: []column[*adminv1.LVG]{
			{head: "NAME", cell: func(g *adminv1.LVG) string { return g.GetMeta().GetName() }},
			{head: "STATE", cell: lvgState},
			{head: "THIN POOLS", cell: thinPools},
			{head: "SIZE", cell: func(g *adminv1.LVG) string { return humanSize(wholeGroup(g).GetSize()) }},
			{head: "RESERVED", cell: func(g *adminv1.LVG) string { return humanSize(wholeGroup(g).GetReserved()) }},
			{head: "FOREIGN", cell: func(g *adminv1.LVG) string { return humanSize(wholeGroup(g).GetForeign()) }},
			{head: "FREE", cell: func(g *adminv1.LVG) string { return humanSize(wholeGroup(g).GetFree()) }},
			{head: "THIN RESERVED", cell: thinReserved},
			{head: "THIN FREE", cell: thinFree},
			{head: "OVER", cell: overProvisioning},
			{head: "HELD BY", cell: heldBy},
			{head: "VG UUID", wide: true, cell: (*adminv1.LVG).GetUuid},
		},
		more: lvgSections,
	}
}

func lvgState(g *adminv1.LVG) string {
	state := "Unknown"
	switch condition(g.GetConditions(), "Ready").GetStatus() {
	case "True":
		state = "Ready"
	case "False":
		state = "NotReady"
	}
	if g.GetUnschedulable() {
		state += ",cordoned"
	}
	return state
}

// wholeGroup is the ledger of the volume group itself.
func wholeGroup(g *adminv1.LVG) *adminv1.PoolSpace {
	for _, s := range g.GetSpaces() {
		if s.GetThinPool() == "" {
			return s
		}
	}
	return nil
}

func thinPools(g *adminv1.LVG) string {
	return eachThin(g, (*adminv1.PoolSpace).GetThinPool)
}

func thinReserved(g *adminv1.LVG) string {
	return eachThin(g, func(s *adminv1.PoolSpace) string { return humanSize(s.GetReserved()) })
}

func thinFree(g *adminv1.LVG) string {
	return eachThin(g, func(s *adminv1.PoolSpace) string { return humanSize(s.GetFree()) })
}

// overProvisioning is how much of its thin pools may be promised; a group without any promises what it has.
func overProvisioning(g *adminv1.LVG) string {
	if thinPools(g) == "" {
		return ""
	}
	return number(g.GetOverProvisioningPercent()) + " %"
}

// namedOwners is how many owners a list names.
const namedOwners = 3

// heldBy says whose the reservations are, the largest first.
func heldBy(g *adminv1.LVG) string {
	sums := map[string]int64{}
	for _, s := range g.GetSpaces() {
		for _, r := range s.GetReservations() {
			owner := r.GetOwner()
			if r.GetOwnerKind() != "replica" {
				owner = r.GetOwnerKind() + " " + owner
			}
			sums[owner] += max(r.GetGranted(), r.GetPending(), r.GetObserved())
		}
	}
	owners := slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(-cmp.Compare(sums[a], sums[b]), cmp.Compare(a, b))
	})
	if more := len(owners) - namedOwners; more > 0 {
		owners = append(owners[:namedOwners], fmt.Sprintf("%d more", more))
	}
	return strings.Join(owners, ", ")
}

func eachThin(g *adminv1.LVG, text func(*adminv1.PoolSpace) string) string {
	var list []string
	for _, s := range g.GetSpaces() {
		if s.GetThinPool() != "" {
			list = append(list, text(s))
		}
	}
	return strings.Join(list, ",")
}

func lvgSections(g *adminv1.LVG) []section {
	spaces := table{heads: []string{"THIN POOL", "SIZE", "LIMIT", "RESERVED", "FOREIGN", "FREE", "DATA", "METADATA", "GROWTH STOPPED"}}
	held := table{heads: []string{"OWNER", "THIN POOL", "GRANTED", "PENDING", "OBSERVED", "STATE", "LV"}}
	for _, s := range g.GetSpaces() {
		spaces.rows = append(spaces.rows, []string{
			dash(s.GetThinPool()), humanSize(s.GetSize()), humanSize(s.GetLimit()), humanSize(s.GetReserved()),
			humanSize(s.GetForeign()), humanSize(s.GetFree()),
			dash(maybePercent(s.DataPercent)), dash(maybePercent(s.MetadataPercent)), dash(s.GetGrowthStopped()),
		})
		for _, r := range s.GetReservations() {
			held.rows = append(held.rows, []string{
				r.GetOwnerKind() + "/" + r.GetOwner(), dash(s.GetThinPool()), humanSize(r.GetGranted()),
				humanSize(r.GetPending()), humanSize(r.GetObserved()), r.GetState(), dash(r.GetLv()),
			})
		}
	}
	return []section{{"Space", spaces}, {"Reservations", held}, conditions(g.GetConditions())}
}

func (a *app) lvgCreate() *cobra.Command {
	r, labels, wait := &adminv1.CreateLVGRequest{}, []string(nil), false
	c := &cobra.Command{
		Use: "create NODE VG", Short: "Offer a node's volume group, or make one on an empty disk",
		Example: "  rvol lvg create n1 vg0 --thin-pool tp0\n  rvol lvg create n1 vg1 --device /dev/sdb --thin-pool tp0 --wait",
		Args:    args("NODE", "VG"), ValidArgsFunction: a.completeEach("node", ""),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) (err error) {
			r.Node, r.Vg = args[0], args[1]
			if r.Labels, err = parsePairs("label", labels); err != nil {
				return err
			}
			g, err := adminv1.NewLVGsClient(a.client).Create(ctx, r)
			if err != nil {
				return err
			}
			name := r.GetNode() + "/" + r.GetVg()
			if !wait {
				return a.changed("lvg", name, g, "offered")
			}
			if err := a.waitLVG(ctx, g); err != nil {
				return err
			}
			g, _, err = a.lvgs().one(ctx, name)
			if err != nil {
				return err
			}
			return a.changed("lvg", name, g, "ready")
		}),
	}
	f := c.Flags()
	f.StringSliceVar(&r.ThinPools, "thin-pool", nil, "offer this thin pool of it; may be repeated")
	f.StringVar(&r.Device, "device", "", "make the volume group (and the thin pool) on this disk, which must be empty")
	f.BoolVar(&r.ThickOff, "thin-only", false, "take no thick volumes in it")
	pairFlag(c, &labels, "label", "a label")
	waitFlag(c, &wait, "it is ready")
	return c
}

// waitLVG waits until the node has reported the group, or the operation that makes it has failed.
func (a *app) waitLVG(ctx context.Context, g *adminv1.LVG) error {
	name := g.GetMeta().GetName()
	return a.wait(ctx, wish{
		kind: "lvg", name: name, kinds: a.lvgs().reads,
		look: func(ctx context.Context) (stage, error) {
			s, err := appears(a.lvgs(), name, lvgStage)(ctx)
			if err != nil || s.done {
				return s, err
			}
			ops, err := a.operations().list(ctx, &adminv1.ListRequest{Node: g.GetNode()})
			if err != nil {
				return s, err
			}
			return s, failedVG(g, ops)
		},
	})
}

// failedVG finds the operation that was to make g and could not.
func failedVG(g *adminv1.LVG, ops []*adminv1.Operation) error {
	for _, o := range ops {
		newer := !o.GetMeta().GetCreatedAt().AsTime().Before(g.GetMeta().GetCreatedAt().AsTime())
		if o.GetType() == "CreateVG" && o.GetPhase() == "Failed" && newer {
			f := failed("lvg %s: make it: %s", g.GetMeta().GetName(), o.GetResult())
			f.next = fmt.Sprintf("See `rvol operation show %s`.", o.GetMeta().GetName())
			return f
		}
	}
	return nil
}

func lvgStage(g *adminv1.LVG) stage {
	ready := condition(g.GetConditions(), "Ready")
	s := stage{phase: "CreateVG", done: ready.GetStatus() == "True", waiting: ready.GetMessage()}
	if s.waiting == "" {
		s.waiting = "waiting for " + g.GetNode() + " to report it"
	}
	return s
}

func (a *app) lvgSet() *cobra.Command {
	r := &adminv1.SetLVGRequest{}
	var cordon, uncordon bool
	var over, data, meta int32
	var labels labelFlags
	c := &cobra.Command{
		Use: "set NAME", Short: "Change how a volume group is used; NAME is NODE/VG", Args: args("NAME"),
		ValidArgsFunction: a.completeEach("lvg"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) (err error) {
			if err := errors.Join(someFlag(c), exclusive(c, "cordon", "uncordon")); err != nil {
				return err
			}
			if r.Labels, err = labels.change(); err != nil {
				return err
			}
			r.Name = args[0]
			if cordon || uncordon {
				r.Unschedulable = &cordon
			}
			r.OverProvisioningPercent = given(c, "over-provisioning", over)
			r.StopDataPercent = given(c, "stop-data", data)
			r.StopMetadataPercent = given(c, "stop-metadata", meta)
			g, err := adminv1.NewLVGsClient(a.client).Set(ctx, r)
			if err != nil {
				return err
			}
			return a.changed("lvg", r.GetName(), g, "changed")
		}),
	}
	f := c.Flags()
	f.BoolVar(&cordon, "cordon", false, "place nothing new in it")
	f.BoolVar(&uncordon, "uncordon", false, "place replicas in it again")
	f.Int32Var(&over, "over-provisioning", 0, "`PERCENT` of a thin pool's size that may be reserved in it")
	f.Int32Var(&data, "stop-data", 0, "stop growth when a thin pool's data is `PERCENT` full")
	f.Int32Var(&meta, "stop-metadata", 0, "stop growth when a thin pool's metadata is `PERCENT` full")
	f.StringSliceVar(&r.AddThinPools, "add-thin-pool", nil, "offer this thin pool too; may be repeated")
	labels.on(c)
	return c
}

func (a *app) lvgLost() *cobra.Command {
	ok := consent{app: a}
	c := &cobra.Command{
		Use: "lost NAME", Short: "Say that a volume group never comes back, so that what was to be removed there is forgotten",
		Long: `Say that a volume group, NODE/VG, never comes back: its disks are broken or taken away. Copies on it were replaced or deleted, and
their removal waits for proof that nobody can give; they are forgotten, and the group is offered no more. The node must
report that the group is not there. Should it come back all the same, what it holds is reported as orphans.`,
		Args: args("NAME"), ValidArgsFunction: a.completeEach("lvg"),
		RunE: a.run(func(ctx context.Context, c *cobra.Command, args []string) error {
			if err := ok.ask(c, args[0], "forgets what was to be removed there"); err != nil {
				return err
			}
			done, err := adminv1.NewLVGsClient(a.client).Lost(ctx, &adminv1.DeleteRequest{Name: args[0], Confirm: args[0]})
			if err != nil {
				return err
			}
			text := "is lost, and offered no more"
			if list := done.GetForgotten(); len(list) > 0 {
				text += "; forgotten: " + strings.Join(list, ", ")
			}
			return a.changed("lvg", args[0], done, "%s", text)
		}),
	}
	ok.nameFlag(c)
	return c
}
