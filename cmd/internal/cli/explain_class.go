package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) explainClass() *cobra.Command {
	return &cobra.Command{
		Use: "class NAME", Short: "Say what a class means, and what is missing here for it", Args: args("NAME"),
		Long: `Say what a class means, in words and numbers: how many copies on how many nodes and zones, what may fail without losing
access, what without losing data; whether the nodes of this cluster can hold it, and what is missing if not; and whose turn
it is when its volumes have to change.`,
		ValidArgsFunction: a.completeEach("class"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			e, err := adminv1.NewClassesClient(a.client).Explain(ctx, &adminv1.ExplainRequest{Name: args[0], Stale: a.flags.stale})
			if err != nil {
				return err
			}
			if a.flags.structured() {
				return a.write(objectOf(e))
			}
			_, err = io.WriteString(a.env.Stdout, classWords(e))
			return err
		}),
	}
}

// classWords is an explanation as people read it.
func classWords(e *adminv1.ClassExplanation) string {
	var b strings.Builder
	c := e.GetClass()
	fmt.Fprintf(&b, "Class %s: FTT %d, GMDR %d, topology %s. Layout %s.\n\n",
		c.GetMeta().GetName(), c.GetFtt(), c.GetGmdr(), c.GetTopology(), c.GetLayout())
	for _, s := range []string{e.GetCopies(), e.GetAccess(), e.GetData(), quorumWords(e), e.GetStorage()} {
		fmt.Fprintln(&b, s)
	}
	fits := "It fits here."
	if !e.GetFits() {
		fits = "It does not fit here."
	}
	fmt.Fprintf(&b, "\n%s %s\n", fits, sentence(e.GetVerdict()))
	if e.GetInForce() != "" {
		fmt.Fprintln(&b, e.GetInForce())
	}
	zones := table{heads: []string{"ZONE", "NODES", "WITH STORAGE", "READY NOW"}}
	for _, z := range e.GetZones() {
		zones.rows = append(zones.rows, []string{dash(z.GetZone()), number(z.GetNodes()), number(z.GetWithStorage()), number(z.GetReady())})
	}
	writeLines(&b, zones)
	writeRollout(&b, "Rollout", e.GetRollout())
	writeRollout(&b, "Repair", e.GetRepair())
	return b.String()
}

func quorumWords(e *adminv1.ClassExplanation) string {
	if e.GetQuorum() <= 1 {
		return "Quorum is off."
	}
	s := fmt.Sprintf("Quorum is %d of %d votes, with at least %d up to date.", e.GetQuorum(), e.GetDiskful(), e.GetQuorumMinimumRedundancy())
	if e.GetTieBreakers() > 0 || e.GetArbiter() {
		s = fmt.Sprintf("Quorum is %d of %d copies, with at least %d up to date; when exactly half are there, the tie-breaker decides.",
			e.GetQuorum(), e.GetDiskful(), e.GetQuorumMinimumRedundancy())
	}
	if e.GetArbiter() {
		s = strings.Replace(s, "the tie-breaker decides", "the majority of the coordinators decides", 1)
	}
	return s
}

func writeRollout(b *strings.Builder, what string, r *adminv1.Rollout) {
	if r == nil {
		return
	}
	fmt.Fprintf(b, "\n%s: %s, %s\n", what, r.GetStrategy(), sentence(r.GetMessage()))
	turns := table{heads: []string{"VOLUME", "TURN", "WHY"}}
	for _, l := range []struct {
		turn    string
		volumes []string
	}{{"running", r.GetRunning()}, {"next", r.GetNext()}, {"waiting", r.GetWaiting()}} {
		for _, v := range l.volumes {
			turns.rows = append(turns.rows, []string{v, l.turn, "-"})
		}
	}
	for _, h := range r.GetHeld() {
		turns.rows = append(turns.rows, []string{h.GetVolume(), "held", h.GetReason()})
	}
	writeLines(b, turns)
}

// writeLines writes a table that has rows, indented.
func writeLines(b *strings.Builder, t table) {
	if len(t.rows) == 0 {
		return
	}
	for _, line := range t.lines() {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

func (a *app) explainPool() *cobra.Command {
	return &cobra.Command{
		Use: "pool NAME", Short: "Say of every node why it may, or may not, hold replicas of a pool", Args: args("NAME"),
		ValidArgsFunction: a.completeEach("pool"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			e, err := adminv1.NewPoolsClient(a.client).Explain(ctx, &adminv1.ExplainRequest{Name: args[0], Stale: a.flags.stale})
			if err != nil {
				return err
			}
			if a.flags.structured() {
				return a.write(objectOf(e))
			}
			_, err = io.WriteString(a.env.Stdout, poolWords(e))
			return err
		}),
	}
}

func poolWords(e *adminv1.PoolExplanation) string {
	var b strings.Builder
	p := e.GetPool()
	fmt.Fprintf(&b, "Pool %s: %s %s. %s\n", p.GetMeta().GetName(), p.GetStorage().GetType(), storageText(p.GetStorage()), sentence(e.GetMessage()))
	if users := p.GetUsedBy(); len(users) > 0 {
		fmt.Fprintf(&b, "Used by class %s.\n", strings.Join(users, ", "))
	}
	nodes := table{heads: []string{"NODE", "ZONE", "ELIGIBLE", "WHY"}}
	for _, n := range e.GetNodes() {
		nodes.rows = append(nodes.rows, []string{n.GetNode(), dash(n.GetZone()), yes(n.GetEligible()), dash(n.GetReason())})
		for _, g := range n.GetLvgs() {
			name := g.GetVg()
			if g.GetThinPool() != "" {
				name += "/" + g.GetThinPool()
			}
			nodes.rows = append(nodes.rows, []string{"  " + name, "", yes(g.GetReady() && !g.GetUnschedulable()), dash(g.GetReason())})
		}
	}
	writeLines(&b, nodes)
	return b.String()
}
