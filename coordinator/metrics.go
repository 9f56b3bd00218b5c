package coordinator

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	"rvol/coordinator/serve/metrics"
	"rvol/proto/probe"
)

// measure adds to the metrics what is read from this member's parts.
func (m *member) measure(admin func(grpc.ServiceRegistrar)) {
	m.metrics.Read(metrics.Config{
		Volumes: m.MetricsVolumes, Admin: admin, Store: m.store, Inventory: m.inventory,
		Member: m.measured, Expiry: m.source.Expiry, Log: m.Log,
	})
}

// measured is this member in the words of the metrics.
func (m *member) measured() (metrics.Member, error) {
	s, l := m.node.Stats(), m.leadership.Leadership()
	out := metrics.Member{
		Leading: l.Leading, Leader: s.Leader, Contact: s.LastContact, Term: s.Term, LastLog: s.LastLog,
		Commit: s.Commit, Snapshot: s.LastSnapshot, Behind: s.Behind, Failed: s.Failed != nil,
	}
	if space, err := m.node.Space(); err == nil {
		out.Free, out.Total = space.Free, space.Total
	}
	all, err := m.node.Members()
	for _, p := range all {
		out.Members = append(out.Members, metrics.Peer{Name: p.ID, Voter: p.Voter, LastLog: p.LastLog, Contact: p.LastContact})
	}
	return out, err
}

// probe answers monitoring until ctx ends.
func (m *member) probe(ctx context.Context) {
	probe.Serve(ctx, m.Metrics, probe.Config{
		Metrics: m.metrics.Gatherer(), Live: probe.Within(func() { m.store.Index() }), Ready: m.ready, Log: m.Log,
	})
}

// near is how many entries a coordinator may lack and still answer for the cluster.
const near = 100

// ready says why this coordinator cannot answer calls now.
func (m *member) ready(context.Context) error {
	s := m.node.Stats()
	switch {
	case s.Failed != nil:
		return fmt.Errorf("nothing more is taken: %w", s.Failed)
	case s.Leader == "":
		return errors.New("no leader: the coordinators have no majority, or are electing")
	case s.Behind > near:
		return fmt.Errorf("%d entries of the log are not in force here yet", s.Behind)
	}
	return nil
}
