package control

import (
	"fmt"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Format raises the format of the state once every coordinator serves a newer one.
type Format struct{}

// Name is the controller's name.
func (Format) Name() string { return "format" }

// Affected says that members and the cluster decide.
func (Format) Affected(changed model.Key, _ state.View) []string {
	switch changed.Kind {
	case model.KindMember, model.KindCluster:
		return []string{model.ClusterName}
	default:
		return nil
	}
}

// AffectedBy names nothing: nodes serve no format.
func (Format) AffectedBy(string, state.View) []string { return nil }

// All lists the cluster.
func (Format) All(state.View) []string { return []string{model.ClusterName} }

// Decide raises the format to the highest that all members serve. The state refuses what a
// member does not serve, should one join meanwhile.
func (c Format) Decide(w World, _ string) (Outcome, error) {
	cluster, ok := state.Get[*model.Cluster](w.State, model.ClusterName)
	if !ok {
		return Outcome{}, nil
	}
	format := state.MaxFormat
	for m := range state.All[*model.Member](w.State) {
		format = min(format, m.Formats[1])
	}
	if format <= w.State.Format() {
		return Outcome{}, nil
	}
	next := model.Clone(cluster)
	next.Format = format
	return Outcome{Txn: state.NewTxn(Actor(c), fmt.Sprintf("raise the format of the state from %d to %d: all coordinators serve it", w.State.Format(), format)).Put(next)}, nil
}
