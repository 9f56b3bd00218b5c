package control

import (
	"cmp"
	"fmt"
	"slices"

	"rvol/coordinator/decide/eligibility"
	"rvol/coordinator/model"
	"rvol/coordinator/model/selector"
	"rvol/coordinator/state"
)

// Pool keeps each pool's eligible nodes (seed 002).
type Pool struct{}

// Name is the controller's name.
func (Pool) Name() string { return "pool" }

// WhileReconciling says that it only writes down what agents report, or what follows from it.
func (Pool) WhileReconciling() {}

// Affected names all pools where a node or an LVG changed: sets are small.
func (Pool) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindPool, model.KindPoolStatus:
		return []string{changed.Name}
	case model.KindNode, model.KindNodeStatus, model.KindLVG, model.KindCapacity:
		return names[*model.Pool](v)
	default:
	}
	return nil
}

// AffectedBy names none: only committed facts make a node eligible.
func (Pool) AffectedBy(string, state.View) []string { return nil }

// All lists all pools.
func (Pool) All(v state.View) []string { return names[*model.Pool](v) }

// Decide recomputes the set; its revision moves exactly when the set does.
func (c Pool) Decide(w World, key string) (Outcome, error) {
	pool, ok := state.Get[*model.Pool](w.State, key)
	old, had := state.Get[*model.PoolStatus](w.State, key)
	if !ok {
		b := state.NewTxn(Actor(c), "pool "+key+" is gone")
		if had {
			b.Delete(old)
		}
		return Outcome{Txn: b}, nil
	}
	st := &model.PoolStatus{}
	st.Name = key
	if had {
		st = model.Clone(old)
	}
	got := EligibleNodes(w, pool, st)
	ready := model.Condition{
		Type: "Ready", Status: model.False, Reason: got.Reason, Message: got.Message, ObservedGeneration: pool.Generation,
	}
	if got.Ready {
		ready.Status = model.True
	}
	if got.Changed {
		st.EligibleNodes, st.EligibleNodesRevision = fromEligible(w, got.Nodes), got.Revision
	}
	st.Conditions = st.Conditions.With(ready, w.Now)
	out := Outcome{Again: got.NextExpiry}
	if had && same(old, st) {
		return out, nil
	}
	out.Txn = state.NewTxn(Actor(c), fmt.Sprintf("pool %s: %s", key, got.Message)).Put(st).Expect(pool.Key(), pool.Revision)
	return out, nil
}

// EligibleNodes works out which nodes may hold replicas of a pool, st being what stands.
func EligibleNodes(w World, p *model.Pool, st *model.PoolStatus) eligibility.Outcome {
	spec := eligibility.Pool{
		VGs: p.VGs, ThinPool: p.ThinPool, Zones: p.Zones, Networks: p.SystemNetworks, Grace: p.NotReadyGrace,
	}
	for _, s := range []struct {
		text string
		to   *selector.Selector
	}{{p.Selector, &spec.Selector}, {p.NodeSelector, &spec.Nodes}} {
		var err error
		if *s.to, err = selector.Parse(s.text); err != nil {
			return eligibility.Outcome{
				Nodes: toEligible(st.EligibleNodes), Revision: st.EligibleNodesRevision,
				Reason: eligibility.PoolInvalidLabelSelector, Message: err.Error(),
			}
		}
	}
	var nodes []eligibility.Node
	for n := range state.All[*model.Node](w.State) {
		nodes = append(nodes, nodeFacts(w, n, p.Type))
	}
	return eligibility.Eligible(spec, nodes, toEligible(st.EligibleNodes), st.EligibleNodesRevision)
}

// nodeFacts gathers what eligibility may look at of one node.
func nodeFacts(w World, n *model.Node, storage model.PoolType) eligibility.Node {
	out := eligibility.Node{Name: n.Name, Zone: n.Zone, Labels: n.Labels, Unschedulable: n.Unschedulable || n.Fenced != nil || n.Deleting()}
	st, ok := state.Get[*model.NodeStatus](w.State, n.Name)
	if ok {
		out.Readiness = eligibility.NotReady
		if st.Ready {
			out.Readiness = eligibility.Ready
		}
		// The grace is counted on this leader's monotonic clock.
		out.NotReadyFor = w.Held("not ready "+n.Name, !st.Ready)
		out.AgentReady = st.Ready && st.Capabilities.Lacks(storage) == ""
		out.DRBD = st.Capabilities.DRBD
		for net := range st.Addresses {
			out.Networks = append(out.Networks, net)
		}
		slices.Sort(out.Networks)
	}
	for l := range state.Under[*model.LVG](w.State, n.Name+"/") {
		out.LVGs = append(out.LVGs, lvgFacts(w, l))
	}
	return out
}

func lvgFacts(w World, l *model.LVG) eligibility.LVG {
	ready := func(thin string) (string, bool) {
		id, _ := l.Pool(thin)
		c, ok := state.Get[*model.Capacity](w.State, id.String())
		return id.String(), ok && !c.Missing
	}
	id, ok := ready("")
	out := eligibility.LVG{
		VG: l.VG, ID: id, Labels: l.Labels, Ready: ok || l.ThickOff,
		Unschedulable: l.Unschedulable || l.Deleting(), ThickOff: l.ThickOff,
	}
	for _, tp := range l.ThinPools {
		id, ok := ready(tp.Name)
		out.ThinPools = append(out.ThinPools, eligibility.ThinPool{Name: tp.Name, ID: id, Ready: ok})
	}
	return out
}

func toEligible(nodes []model.EligibleNode) []eligibility.EligibleNode {
	var out []eligibility.EligibleNode
	for _, n := range nodes {
		e := eligibility.EligibleNode{
			Node: n.Node, Zone: n.Zone, Unschedulable: n.Unschedulable, NodeReady: n.NodeReady, AgentReady: n.AgentReady, DRBD: n.DRBD,
		}
		for _, l := range n.LVGs {
			e.LVGs = append(e.LVGs, eligibility.EligibleLVG{
				VG: l.VG, ThinPool: l.ThinPool, ID: l.Pool.String(), Unschedulable: l.Unschedulable, Ready: l.Ready,
			})
		}
		out = append(out, e)
	}
	return out
}

func fromEligible(w World, nodes []eligibility.EligibleNode) []model.EligibleNode {
	var out []model.EligibleNode
	for _, n := range nodes {
		e := model.EligibleNode{
			Node: n.Node, Zone: n.Zone, Unschedulable: n.Unschedulable, NodeReady: n.NodeReady, AgentReady: n.AgentReady, DRBD: n.DRBD,
		}
		for _, l := range n.LVGs {
			lvg, ok := state.Get[*model.LVG](w.State, model.LVGName(n.Node, l.VG))
			if !ok {
				continue
			}
			pool, _ := lvg.Pool(l.ThinPool)
			e.LVGs = append(e.LVGs, model.EligibleLVG{
				VG: l.VG, ThinPool: l.ThinPool, Pool: pool, Unschedulable: l.Unschedulable, Ready: l.Ready,
			})
		}
		slices.SortFunc(e.LVGs, func(a, b model.EligibleLVG) int {
			return cmp.Or(cmp.Compare(a.VG, b.VG), cmp.Compare(a.ThinPool, b.ThinPool))
		})
		out = append(out, e)
	}
	return out
}
