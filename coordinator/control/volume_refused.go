package control

import (
	"fmt"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// lookAgain is how often it is asked whether something has changed for a volume that was given up.
const lookAgain = time.Minute

// revive begins again with a volume whose formation was given up, once something has changed that may have been why.
func (c Volume) revive(w World, vol *model.Volume, vs *model.VolumeStatus, class *model.Class, pool string) Outcome {
	changed := vol.Revision > vs.Revision || class.Revision > vs.Revision
	if ps, ok := state.Get[*model.PoolStatus](w.State, pool); ok {
		for _, n := range ps.EligibleNodes {
			changed = changed || nodeRevision(w.State, n.Node) > vs.Revision
		}
	}
	if !changed {
		return Outcome{Again: lookAgain, Reason: fmt.Sprintf("given up after %d refusals: %s", vs.Refused, vs.LastError)}
	}
	next := model.Clone(vs)
	next.Refused, next.Restarts = 0, 0
	return c.write(vs, next, "try volume "+vol.Name+" again: something has changed")
}

// nodeRevision is the index of the last change of what a node is, offers and has room for.
func nodeRevision(v state.View, node string) uint64 {
	var last uint64
	for _, kind := range []model.Kind{model.KindNode, model.KindNodeStatus} {
		if o, ok := v.Object(model.Key{Kind: kind, Name: node}); ok {
			last = max(last, o.Info().Revision)
		}
	}
	for l := range state.Under[*model.LVG](v, node+"/") {
		last = max(last, l.Revision)
	}
	for c := range state.Under[*model.Capacity](v, node+"/") {
		last = max(last, c.Revision)
	}
	return last
}
