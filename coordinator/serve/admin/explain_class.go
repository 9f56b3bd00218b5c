package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/rollout"
	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Explain says what a class means, and what this cluster lacks for it.
func (s *classes) Explain(_ context.Context, r *adminv1.ExplainRequest) (*adminv1.ClassExplanation, error) {
	v := s.Store.View()
	c, err := find[*model.Class](v, r.GetName())
	if err != nil {
		return nil, err
	}
	pool := control.PoolOf(c)
	l := classLayout(v, c, pool)
	words := l.Explain(layout.Topology(c.Topology))
	out := &adminv1.ClassExplanation{
		Class: classOf(v, c), Diskful: int32(l.Diskful), TieBreakers: int32(l.TieBreakers), Arbiter: l.Arbiter,
		Quorum: int32(l.Quorum), QuorumMinimumRedundancy: int32(l.QuorumMinimumRedundancy),
		Copies: words.Copies, Access: words.Access, Data: words.Data, Storage: storageWords(v, c, pool),
	}
	if c.Topology == model.TopologyTransZonal {
		out.LeastZones = int32(l.LeastZones())
	}
	explainFit(v, c, pool, out)
	cs, ok := state.Get[*model.ClassStatus](v, c.Name)
	if !ok {
		return out, nil
	}
	out.InForce = inForce(c, cs)
	volumes := control.ClassVolumes(v, c.Name)
	out.Rollout = planOf(storageclass.Rollout(c, cs, volumes))
	out.Repair = planOf(storageclass.Repair(c, volumes))
	return out, nil
}

// explainFit says whether the nodes of the class's pool can hold it, and counts them.
func explainFit(v state.View, c *model.Class, pool string, out *adminv1.ClassExplanation) {
	ps, ok := state.Get[*model.PoolStatus](v, pool)
	if !ok {
		out.Verdict = "pool " + pool + " does not exist, or has not been looked at yet"
		return
	}
	verdict := storageclass.Fits(c, ps.EligibleNodes)
	out.Fits, out.Verdict = verdict.Valid, verdict.Message
	if ready, known := ps.Conditions.Get("Ready"); known && ready.Status != model.True {
		out.Fits, out.Verdict = false, ready.Message+"; with the nodes it had before: "+verdict.Message
	}
	zones := map[string]*adminv1.ZoneNodes{}
	for _, n := range ps.EligibleNodes {
		z := zones[n.Zone]
		if z == nil {
			z = &adminv1.ZoneNodes{Zone: n.Zone}
			zones[n.Zone] = z
			out.Zones = append(out.Zones, z)
		}
		z.Nodes++
		if len(n.LVGs) > 0 {
			z.WithStorage++
		}
		if takesReplicas(n) {
			z.Ready++
		}
	}
	slices.SortFunc(out.Zones, func(a, b *adminv1.ZoneNodes) int { return cmp.Compare(a.GetZone(), b.GetZone()) })
}

// takesReplicas says whether a Diskful could be placed on a node now.
func takesReplicas(n model.EligibleNode) bool {
	usable := func(l model.EligibleLVG) bool { return l.Ready && !l.Unschedulable }
	return n.NodeReady && n.AgentReady && !n.Unschedulable && slices.ContainsFunc(n.LVGs, usable)
}

// storageWords says where the pool of a class comes from, and who shares it.
func storageWords(v state.View, c *model.Class, pool string) string {
	s := "Pool " + pool + ", which an operator made"
	if c.Storage != nil {
		s = fmt.Sprintf("Pool %s, made from %s of this class", pool, messageText(storageOf(c.Storage)))
	}
	ps, ok := state.Get[*model.PoolStatus](v, pool)
	if !ok {
		return s + "."
	}
	others := slices.DeleteFunc(slices.Clone(ps.UsedBy), func(name string) bool { return name == c.Name })
	if len(others) > 0 {
		s += ", shared with class " + strings.Join(others, ", ")
	}
	return s + "."
}

// inForce says which configuration new volumes get, when it is not the one asked for.
func inForce(c *model.Class, cs *model.ClassStatus) string {
	switch {
	case cs.Configuration == nil:
		return "No configuration has been in force yet: volumes of this class wait."
	case cs.ConfigurationGeneration == c.Generation:
		return ""
	}
	now := cs.Configuration
	l := layout.Formula(now.FTT, now.GMDR)
	return fmt.Sprintf("Until the nodes can hold generation %d, volumes get generation %d: FTT %d, GMDR %d (%s).",
		c.Generation, cs.ConfigurationGeneration, now.FTT, now.GMDR, l.Short())
}

func planOf(p rollout.Plan) *adminv1.Rollout {
	out := &adminv1.Rollout{
		Strategy: p.Strategy, MaxParallel: int32(p.Max), Next: p.Next, Running: p.Running, Waiting: p.Waiting, Message: p.String(),
	}
	for _, h := range p.Held {
		out.Held = append(out.Held, &adminv1.HeldVolume{Volume: h.Volume, Reason: h.Reason})
	}
	if p.Idle() {
		out.Message = "nothing to do"
	}
	return out
}
