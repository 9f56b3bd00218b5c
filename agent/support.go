package agent

import (
	"context"
	"runtime"
	"slices"

	"rvol/agent/collect"
	"rvol/agent/decide"
	"rvol/proto/probe"
)

// collector gathers what helps to find out what is wrong with this node.
func (a *agent) collector(run func(context.Context, ...string) ([]byte, error)) collect.Node {
	return collect.Node{
		Run: run, Root: a.Root, Facts: func() any { return a.known() }, Secrets: a.secrets,
		Metrics: func() ([]byte, error) { return probe.Text(a.metrics.Gatherer()) },
	}
}

// knowledge is what the agent knows, without secrets: these hide themselves when they are written.
type knowledge struct {
	Hello   decide.Hello
	Go      string
	Session string   // who is talked to
	Status  string   // the line of systemctl status
	Stuck   []string // tools that do not end
	Report  decide.Report
	Order   decide.Desired
	Journal decide.Facts
}

func (a *agent) known() knowledge {
	k := knowledge{
		Hello: a.hello(), Go: runtime.Version(), Session: a.session.State(), Status: a.statusText(), Report: a.report(), Journal: a.journal.Facts(),
	}
	k.Order, _ = a.journal.Order()
	if a.Stuck != nil {
		k.Stuck = a.Stuck()
	}
	return k
}

// secrets are all that this node has: of its volumes, and its own key.
func (a *agent) secrets() [][]byte {
	var list [][]byte
	order, _ := a.journal.Order()
	for _, r := range slices.Concat(order.Resources, a.journal.Kept()) {
		list = append(list, []byte(r.Secret))
	}
	return append(list, IdentityDir(a.State).Secrets()...)
}
