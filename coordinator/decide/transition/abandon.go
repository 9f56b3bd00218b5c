package transition

import (
	"fmt"

	"rvol/coordinator/model"
)

// Abandon writes that a transition is given up. It goes when its members have said that
// they no longer work on it.
func Abandon(in Input, i int, why string) Outcome {
	d := newDraft(in, i)
	t := d.transition()
	t.Abort = why
	return d.outcome(fmt.Sprintf("%s: give up: %s", what(in, t), why))
}

// MayAbandon says why a transition can only be finished; "": it can be given up.
func MayAbandon(t *model.Transition) string {
	p := planOf(t)
	if p == nil {
		return "plan " + t.Plan + " is not known to this version"
	}
	for _, stored := range t.Steps {
		if s := p.find(stored.Name); s != nil && s.final && stored.Status != model.StepPending {
			return s.name + " has begun: it can only be finished"
		}
	}
	return ""
}

// abort ends a transition that is given up.
func (p *plan) abort(in Input, i int) Outcome {
	t := &in.Status.Transitions[i]
	if active := t.Active(); active >= 0 {
		s := p.find(t.Steps[active].Name)
		for _, m := range in.Members {
			if m.Deleting() || !s.concerns(at{in, i, active}, m) {
				continue
			}
			if !m.Known || m.Accepted < in.Status.Revision {
				return Outcome{Wait: fmt.Sprintf("replica %s: waiting until its agent has read that %s is given up", name(m), t.Type)}
			}
		}
	}
	d := newDraft(in, i)
	p.giveUp(in, d)
	d.remove()
	return d.outcome(fmt.Sprintf("%s: given up: %s", what(in, t), t.Abort))
}
