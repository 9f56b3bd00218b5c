package agent

import (
	"context"
	"errors"

	"rvol/agent/metrics"
	"rvol/proto/probe"
)

// facts are how the agent is now, for monitoring.
func (a *agent) facts() metrics.Facts {
	order, _ := a.journal.Order()
	states, _ := a.engine.States()
	f := metrics.Facts{
		Connected: a.session.Connected(), Order: order, LVM: a.lvm.View(), DRBD: a.drbd.View(), Replicas: states,
		Frozen: len(a.engine.Frozen()),
	}
	f.Conditions = a.conditions(f.LVM)
	if a.Stuck != nil {
		f.Stuck = len(a.Stuck())
	}
	if a.Expiry != nil {
		f.Certificate, f.CA = a.Expiry()
	}
	return f
}

// probe answers monitoring until ctx ends.
func (a *agent) probe(ctx context.Context) error {
	if a.Metrics == nil {
		return nil
	}
	probe.Serve(ctx, a.Metrics, probe.Config{
		Metrics: a.metrics.Gatherer(), Live: probe.Within(func() { a.statusText() }), Ready: a.observed, Log: a.Log,
	})
	return nil
}

// observed says why the agent does not know yet what its machine holds.
func (a *agent) observed(context.Context) error {
	select {
	case <-a.looked:
		return nil
	default:
		return errors.New("not observed yet: " + a.missing())
	}
}
