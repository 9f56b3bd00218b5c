package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/control"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// Explain says of every node why it may, or may not, hold replicas of a pool.
func (s *pools) Explain(_ context.Context, r *adminv1.ExplainRequest) (*adminv1.PoolExplanation, error) {
	v := s.Store.View()
	p, err := find[*model.Pool](v, r.GetName())
	if err != nil {
		return nil, err
	}
	st, ok := state.Get[*model.PoolStatus](v, p.Name)
	if !ok {
		st = &model.PoolStatus{}
	}
	// How long nodes have been NotReady is known to the controller alone: here, nobody's grace is over.
	held := func(string, bool) time.Duration { return 0 }
	got := control.EligibleNodes(control.World{State: v, Held: held}, p, st)
	excluded := map[string]string{}
	for _, e := range got.Excluded {
		excluded[e.Node] = e.Why
	}
	out := &adminv1.PoolExplanation{Pool: poolOf(v, p), Message: got.Message}
	for n := range state.All[*model.Node](v) {
		i := slices.IndexFunc(st.EligibleNodes, func(e model.EligibleNode) bool { return e.Node == n.Name })
		if i < 0 {
			out.Nodes = append(out.Nodes, &adminv1.NodeVerdict{Node: n.Name, Zone: n.Zone, Reason: whyNot(v, p, n.Name, excluded)})
			continue
		}
		out.Nodes = append(out.Nodes, nodeVerdict(v, st.EligibleNodes[i]))
	}
	return out, nil
}

// whyNot says why a node is not in the list that stands.
func whyNot(v state.View, p *model.Pool, node string, excluded map[string]string) string {
	// How long it has been NotReady is not known here.
	if why := excluded[node]; why != "" && !strings.HasPrefix(why, "NotReady") {
		return why
	}
	if st, ok := state.Get[*model.NodeStatus](v, node); ok && !st.Ready {
		return fmt.Sprintf("NotReady for longer than %s", durationText(p.NotReadyGrace))
	}
	return "it has not been looked at yet"
}

// nodeVerdict says what is wrong with a node although it is eligible.
func nodeVerdict(v state.View, n model.EligibleNode) *adminv1.NodeVerdict {
	out := &adminv1.NodeVerdict{Node: n.Node, Zone: n.Zone, Eligible: true}
	st, known := state.Get[*model.NodeStatus](v, n.Node)
	switch {
	case !known:
		out.Reason = "its agent has never reported"
	case !n.NodeReady:
		out.Reason = "NotReady: " + st.Why() + "; nothing new is placed there"
	case !n.AgentReady:
		out.Reason = "its agent finds no LVM or no DRBD; nothing new is placed there"
	case n.Unschedulable:
		out.Reason = "cordoned, fenced or being deleted; nothing new is placed there"
	case len(n.LVGs) == 0:
		out.Reason = "it has no volume group of the pool: for tie-breakers and access only"
	}
	for _, l := range n.LVGs {
		g := &adminv1.LVGVerdict{Vg: l.VG, ThinPool: l.ThinPool, Ready: l.Ready, Unschedulable: l.Unschedulable}
		g.Reason = lvgReason(v, n.Node, l)
		out.Lvgs = append(out.Lvgs, g)
	}
	return out
}

// lvgReason says why a volume group takes nothing new; nothing when it does.
func lvgReason(v state.View, node string, e model.EligibleLVG) string {
	l, ok := state.Get[*model.LVG](v, model.LVGName(node, e.VG))
	if !ok {
		return "it is not offered any more"
	}
	record, _ := state.Get[*model.Capacity](v, e.Pool.String())
	for _, c := range lvgConditions(l, []*model.Capacity{record}) {
		if c.Status != model.True {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}
