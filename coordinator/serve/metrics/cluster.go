package metrics

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/probe"
)

// cluster is what the leader tells of the cluster.
type cluster struct {
	Config
	admin services
	probe.Set

	nodes      nodes
	space      space
	volumes    volumes
	operations probe.Gauge
	incomplete probe.Gauge
}

func newCluster(c Config, admin services) *cluster {
	m := &cluster{Config: c, admin: admin}
	m.nodes = newNodes(&m.Set)
	m.space = newSpace(&m.Set)
	m.volumes = newVolumes(&m.Set)
	m.operations = m.Gauge("rvol_operations", "One-off commands on nodes, by phase.", "phase")
	m.incomplete = m.Gauge("rvol_metrics_incomplete", "1 when the leader could not read all that it tells of the cluster.")
	return m
}

// Collect is what a scrape asks for.
func (m *cluster) Collect(out chan<- prometheus.Metric) {
	if s, err := m.Member(); err != nil || !s.Leading {
		return
	}
	ctx := context.Background() // the answers come from memory
	err := errors.Join(m.readNodes(ctx, out), m.readSpace(ctx, out), m.readVolumes(ctx, out), m.readOperations(ctx, out))
	if err != nil {
		m.Log.WarnContext(ctx, "metrics of the cluster are not complete", "err", err)
	}
	m.incomplete.Is(out, probe.One(err != nil))
}

func (m *cluster) readOperations(ctx context.Context, out chan<- prometheus.Metric) error {
	answer, err := m.admin.operations.List(ctx, &adminv1.ListRequest{})
	if err != nil {
		return err
	}
	n := map[model.OperationPhase]int{
		model.OperationPending: 0, model.OperationRunning: 0, model.OperationSucceeded: 0, model.OperationFailed: 0,
	}
	for _, op := range answer.GetOperations() {
		n[model.OperationPhase(op.GetPhase())]++
	}
	for phase, n := range n {
		m.operations.Is(out, float64(n), string(phase))
	}
	return nil
}
