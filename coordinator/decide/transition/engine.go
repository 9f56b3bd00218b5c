package transition

import (
	"fmt"
	"time"

	"rvol/coordinator/model"
)

// quiet is how long a step is not spoken of: most are over before anybody could read it.
const quiet = 2 * time.Second

// Next says what is due of the volume's transitions: the first that can go on does.
func Next(in Input) Outcome {
	var out Outcome
	for i := range in.Status.Transitions {
		one := next(in, i)
		if one.Changed() {
			return one
		}
		if out.Wait == "" {
			out.Wait = one.Wait
		}
		if one.Again > 0 && (out.Again == 0 || one.Again < out.Again) {
			out.Again = one.Again
		}
	}
	return out
}

func next(in Input, i int) Outcome {
	t := &in.Status.Transitions[i]
	p := planOf(t)
	if p == nil {
		return Outcome{Wait: fmt.Sprintf("plan %s is not known to this version: a newer coordinator began it", t.Plan)}
	}
	return p.next(in, i)
}

// next takes the transition one step on, or says what it waits for.
func (p *plan) next(in Input, i int) Outcome {
	t := &in.Status.Transitions[i]
	if t.Abort != "" && p.giveUp != nil {
		return p.abort(in, i)
	}
	active := t.Active()
	if active >= 0 {
		a := at{in, i, active}
		s := p.find(t.Steps[active].Name)
		if s == nil {
			return Outcome{Wait: fmt.Sprintf("step %s of plan %s is not known to this version", t.Steps[active].Name, t.Plan)}
		}
		if why := s.failure(a); why != "" && !s.final {
			return Abandon(in, i, why)
		}
		if wait := s.unconfirmed(a); wait != "" {
			return s.wait(a, wait)
		}
	}
	next := active + 1
	if active < 0 {
		next = done(t)
	}
	if next == len(t.Steps) {
		d := newDraft(in, i)
		if p.finish != nil {
			p.finish(in, d)
		}
		d.remove()
		return d.outcome(fmt.Sprintf("%s: done", what(in, t)))
	}
	return p.begin(at{in, i, next})
}

// done is how many steps are over.
func done(t *model.Transition) int {
	n := 0
	for n < len(t.Steps) && t.Steps[n].Status == model.StepCompleted {
		n++
	}
	return n
}

// what names a transition for people.
func what(in Input, t *model.Transition) string {
	if t.Title != "" {
		return t.Title
	}
	return t.Type + " of " + in.Volume.Name
}

// begin enters a step whose guards hold.
func (p *plan) begin(a at) Outcome {
	s := p.find(a.stored().Name)
	if s == nil {
		return Outcome{Wait: fmt.Sprintf("step %s of plan %s is not known to this version", a.stored().Name, p.name)}
	}
	for _, guard := range s.guards {
		if why := guard(a); why != "" {
			out := say(a, why)
			out.Again = max(out.Again, lookAgain)
			return out
		}
	}
	d := newDraft(a.Input, a.index)
	d.step = a.step
	t := d.transition()
	if a.step > 0 {
		before := &t.Steps[a.step-1]
		if before.Status == model.StepActive {
			before.Status, before.CompletedAt, before.Message = model.StepCompleted, a.Now, ""
		}
	}
	t.Steps[a.step].Status, t.Steps[a.step].StartedAt, t.Steps[a.step].Message = model.StepActive, a.Now, ""
	if s.enter != nil {
		s.enter(a, d)
	}
	return d.outcome(fmt.Sprintf("%s: %s%s", what(a.Input, a.change()), s.name, about(a)))
}

// lookAgain is how often a guard is asked again that may wait for what wakes nobody.
const lookAgain = 5 * time.Second

// about names the replica of a step.
func about(a at) string {
	if id := a.stored().Replica; id != nil {
		return " of " + model.ReplicaName(a.Volume.Name, *id)
	}
	return ""
}

// unconfirmed is who has not confirmed the step, and why.
func (s *step) unconfirmed(a at) string {
	if s.confirm == nil {
		return ""
	}
	for _, m := range a.Members {
		if m.Deleting() || !s.concerns(a, m) || a.excused(m) {
			continue
		}
		if why := silent(m); why != "" {
			return fmt.Sprintf("replica %s: %s", name(m), why)
		}
		if why := s.confirm(a, m); why != "" {
			return fmt.Sprintf("replica %s: %s", name(m), why)
		}
	}
	return ""
}

// silent says that nothing can be known of a replica, and what to do about it.
func silent(m Member) string {
	switch {
	case m.Known || m.Node == "": // without a node there is nobody to ask
		return ""
	case m.Fenced:
		return fmt.Sprintf("no report of its node, which is fenced: give it up with `rvol replica remove %s --force`", m.Name)
	}
	return "no report of its node"
}

// failure is what a member says that waiting will not cure.
func (s *step) failure(a at) string {
	if s.fails == nil {
		return ""
	}
	for _, m := range a.Members {
		if m.Deleting() || !s.concerns(a, m) || !m.Known {
			continue
		}
		if why := s.fails(m); why != "" {
			return fmt.Sprintf("replica %s: %s", name(m), why)
		}
	}
	return ""
}

// wait waits in a step, and gives up when its time is over.
func (s *step) wait(a at, why string) Outcome {
	in := time.Duration(0)
	if a.index < len(a.InStep) {
		in = a.InStep[a.index]
	}
	switch {
	case s.timeout > 0 && !s.final && in >= s.timeout:
		return Abandon(a.Input, a.index, fmt.Sprintf("%s was not done after %s: %s", s.name, s.timeout, why))
	case s.slow > 0 && in >= s.slow:
		return say(a, fmt.Sprintf("%s (takes longer than %s)", why, s.slow))
	}
	out := say(a, why)
	if limit := max(s.timeout, s.slow); limit > in && (out.Again == 0 || limit-in < out.Again) {
		out.Again = limit - in
	}
	return out
}

// say records what is waited for, when it changed; people read it.
func say(a at, why string) Outcome {
	if a.stored().Message == why {
		return Outcome{Wait: why}
	}
	if early := min(quiet, quiet-a.Now.Sub(spokenFrom(a))); early > 0 { // that may have been written by a clock ahead of this one
		return Outcome{Wait: why, Again: early}
	}
	d := newDraft(a.Input, a.index)
	s := &d.transition().Steps[a.step]
	s.Message = why
	out := d.outcome(fmt.Sprintf("%s: %s: %s", what(a.Input, a.change()), s.Name, why))
	out.Wait = why
	return out
}

// spokenFrom is when a step began, or the one before ended, or the whole.
func spokenFrom(a at) time.Time {
	s := a.stored()
	switch {
	case !s.StartedAt.IsZero():
		return s.StartedAt
	case a.step > 0 && !a.change().Steps[a.step-1].StartedAt.IsZero():
		return a.change().Steps[a.step-1].StartedAt
	}
	return a.change().StartedAt
}

func name(m Member) string {
	if m.Node == "" {
		return fmt.Sprint(m.ID)
	}
	return fmt.Sprintf("%d (%s)", m.ID, m.Node)
}
