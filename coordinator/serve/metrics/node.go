package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/probe"
)

// findings are the conditions of nodes that are told: an agent could send any word.
var findings = []string{
	"AddressesPresent", "CertificateValid", "DRBDHelperUsable", "DRBDReadsOurFiles", "DRBDServiceDisabled", "DRBDVersionSupported", "IOFlows",
	"LVMIgnoresDRBD", "MultipathIgnoresDRBD", "ThinPoolsRefuseWhenFull", "ToolsRespond",
}

// nodes is what is told of each node.
type nodes struct {
	ready, connected, fenced, cordoned probe.Gauge
	silence, replicas, condition       probe.Gauge
	wanted, accepted                   probe.Gauge
}

func newNodes(s *probe.Set) nodes {
	return nodes{
		ready:     s.Gauge("rvol_node_ready", "1 while the node is Ready.", "node"),
		connected: s.Gauge("rvol_node_connected", "1 while the node's agent has a session with the leader.", "node"),
		silence:   s.Gauge("rvol_node_silence_seconds", "Since the leader last heard of the node's agent.", "node"),
		fenced:    s.Gauge("rvol_node_fenced", "1 while an operator says that the node is off or cut from its storage network.", "node"),
		cordoned:  s.Gauge("rvol_node_unschedulable", "1 while nothing new is placed on the node.", "node"),
		replicas:  s.Gauge("rvol_node_replicas", "Replicas on the node.", "node"),
		condition: s.Gauge("rvol_node_condition_false", "1 while a condition of the node is False: something is wrong there.", "node", "condition"),
		wanted:    s.Gauge("rvol_node_order_index", "Log index of what the node is to hold.", "node"),
		accepted:  s.Gauge("rvol_node_order_accepted_index", "Log index of the newest order that the node's agent has accepted.", "node"),
	}
}

func (m *cluster) readNodes(ctx context.Context, out chan<- prometheus.Metric) error {
	answer, err := m.admin.nodes.List(ctx, &adminv1.ListRequest{})
	if err != nil {
		return err
	}
	v, seen, g := m.Store.View(), m.Inventory.View(), m.nodes
	for _, n := range answer.GetNodes() {
		name := n.GetMeta().GetName()
		g.ready.Is(out, probe.One(n.GetReady()), name)
		g.connected.Is(out, probe.One(n.GetConnected()), name)
		g.fenced.Is(out, probe.One(n.GetFenced()), name)
		g.cordoned.Is(out, probe.One(n.GetUnschedulable()), name)
		g.replicas.Is(out, float64(n.GetReplicas()), name)
		g.wanted.Is(out, float64(v.NodeRevision(name)), name)
		if agent := seen.Node(name); agent != nil {
			g.silence.Is(out, time.Since(agent.Heard).Seconds(), name)
			g.accepted.Is(out, float64(agent.Accepted.Index), name)
		}
		for _, c := range n.GetConditions() {
			if slices.Contains(findings, c.GetType()) {
				g.condition.Is(out, probe.One(c.GetStatus() == string(model.False)), name, c.GetType())
			}
		}
	}
	return nil
}
