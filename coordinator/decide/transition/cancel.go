package transition

import (
	"fmt"
	"slices"

	"rvol/coordinator/model"
)

// Cancel goes back from the transition with the given index, where that is safe. A copy that
// was on its way is removed; one that was to go, and still could be counted on, stays.
func Cancel(in Input, i int, to Target, why string) (Outcome, error) {
	t := &in.Status.Transitions[i]
	p := planOf(t)
	switch {
	case p == nil:
		return Outcome{}, fmt.Errorf("%w: plan %s is not known to this version", model.ErrBusy, t.Plan)
	case t.Abort != "":
		return Outcome{}, nil
	case p.giveUp != nil:
		if obstacle := MayAbandon(t); obstacle != "" {
			return Outcome{}, fmt.Errorf("%w: %s", model.ErrBusy, obstacle)
		}
		return Abandon(in, i, why), nil
	}
	if obstacle := in.committed(t); obstacle != "" {
		return Outcome{}, fmt.Errorf("%w: %s: it can only be finished", model.ErrBusy, obstacle)
	}
	d := newDraft(in, i)
	back := newScript(in)
	if err := back.undo(in, t, to, d); err != nil {
		return Outcome{}, err
	}
	back.takeVotes()
	d.turn(in, back.steps, why)
	return d.outcome(fmt.Sprintf("%s: go back: %s", what(in, t), why)), nil
}

// committed says why a transition cannot go back: a member that is to go has begun to, and
// what it holds may be behind already.
func (in Input) committed(t *model.Transition) string {
	for _, s := range t.Steps {
		if s.Status == model.StepPending || s.Replica == nil {
			continue
		}
		switch id := *s.Replica; s.Name {
		case LoseVote:
			if s.Type == model.Access {
				return fmt.Sprintf("replica %d has lost its vote", id)
			}
		case DetachDisk, SwapBacking:
			return fmt.Sprintf("the disk of replica %d is detached", id)
		case LeaveMesh, GiveUp, ForgetLost, ReleaseReplica:
			if !in.old84() || !slices.ContainsFunc(t.Steps, func(s model.TransitionStep) bool { return s.Name == JoinMesh && s.Status == model.StepPending }) {
				return fmt.Sprintf("replica %d has left", id)
			}
		}
	}
	return ""
}

// undo writes the steps back to where the transition began.
func (s *script) undo(in Input, t *model.Transition, to Target, d *draft) error {
	if t.Was != nil {
		d.status.Configuration, d.status.ConfigurationGeneration = t.Was, t.WasGeneration
		d.status.Declined = in.Status.ConfigurationGeneration
		return s.converge(in, to, d)
	}
	for _, step := range t.Steps {
		if step.Replica == nil {
			continue
		}
		m, there := in.replica(*step.Replica)
		switch {
		case !there || m.Deleting():
		case step.Name == PlaceReplica:
			s.remove(m.ID)
		case step.Name == SwapBacking:
			next := m.reserved()
			d.releaseAll(m, func(res *model.Reservation) bool { return next[res.Device] == res })
		case step.Name == MakeBacking && step.Status != model.StepPending:
			s.lower(m.ID, step.Type)
		case step.Name == LeaveMesh && step.Status != model.StepPending: // DRBD 8.4: it has not been succeeded yet
			s.gainDisk(m.ID)
		}
	}
	return nil
}

// turn replaces what was still to be done.
func (d *draft) turn(in Input, steps []model.TransitionStep, why string) {
	t := d.transition()
	var kept []model.TransitionStep
	for _, s := range t.Steps {
		if s.Status == model.StepPending {
			break
		}
		if s.Status == model.StepActive {
			s.Status, s.CompletedAt, s.Message = model.StepCompleted, in.Now, "given up"
		}
		kept = append(kept, s)
	}
	for i := range steps {
		steps[i].Status = model.StepPending
	}
	t.Steps, t.Abort = append(kept, steps...), why
	if len(steps) == 0 {
		d.remove()
	}
}
