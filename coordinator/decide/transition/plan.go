package transition

import (
	"fmt"
	"time"

	"rvol/coordinator/model"
)

// plan is one kind of change.
type plan struct {
	name  string // with its version: "resize/v1"
	kind  string
	steps []step
	// finish writes what the change has led to.
	finish func(in Input, d *draft)
	// giveUp writes that it led to nothing, once nobody works on it any more.
	giveUp func(in Input, d *draft)
}

// step is one part of a plan.
type step struct {
	name    string
	guards  []func(Input, *model.Transition) string // why it may not begin; "": it may
	enter   func(Input, *draft)                     // what changes when it begins; nil: that it is active
	confirm func(Input, *model.Transition, Member) string
	// concerns says who must confirm.
	concerns func(Member) bool
	// fails says that a member never will, and why; nil: none says so.
	fails   func(Member) string
	timeout time.Duration // after which it is given up; 0: never
	final   bool          // from here on it can only be finished
}

// plans are all plans that this binary knows.
var plans = []*plan{&resizeV1}

func planOf(t *model.Transition) *plan {
	for _, p := range plans {
		if p.name == t.Plan {
			return p
		}
	}
	return nil
}

// start makes the stored form of a plan: no step is active yet.
func (p *plan) start(now time.Time) model.Transition {
	t := model.Transition{Type: p.kind, Plan: p.name, StartedAt: now}
	for _, s := range p.steps {
		t.Steps = append(t.Steps, model.TransitionStep{Name: s.name, Status: model.StepPending})
	}
	return t
}

// draft is the volume's status as it is to be, and what else is to be written.
type draft struct {
	status *model.VolumeStatus
	index  int // of the transition in status
	put    []model.Object
}

func newDraft(in Input, index int) *draft {
	return &draft{status: model.Clone(in.Status), index: index}
}

func (d *draft) transition() *model.Transition { return &d.status.Transitions[d.index] }

// remove takes the transition out of the status.
func (d *draft) remove() {
	d.status.Transitions = append(d.status.Transitions[:d.index:d.index], d.status.Transitions[d.index+1:]...)
}

func (d *draft) outcome(cause string) Outcome {
	return Outcome{Put: append(d.put, d.status), Cause: cause}
}

// Next says what is due of the volume's transitions: the first that can go on does.
func Next(in Input) Outcome {
	var first Outcome
	for i := range in.Status.Transitions {
		t := &in.Status.Transitions[i]
		p := planOf(t)
		if p == nil {
			return Outcome{Wait: fmt.Sprintf("plan %s is not known to this version: a newer coordinator began it", t.Plan)}
		}
		out := p.next(in, i)
		if out.Changed() {
			return out
		}
		if i == 0 {
			first = out
		}
	}
	return first
}

// next takes the transition one step on, or says what it waits for.
func (p *plan) next(in Input, i int) Outcome {
	t := &in.Status.Transitions[i]
	if t.Abort != "" {
		return p.abort(in, i)
	}
	active := t.Active()
	if active >= 0 {
		s := p.steps[active]
		if why := s.failure(in); why != "" && !s.final {
			return Abandon(in, i, why)
		}
		if wait := s.unconfirmed(in, t); wait != "" {
			return p.wait(in, i, active, wait)
		}
	}
	if active+1 == len(p.steps) {
		d := newDraft(in, i)
		p.finish(in, d)
		d.remove()
		return d.outcome(fmt.Sprintf("%s of %s: done", p.kind, in.Volume.Name))
	}
	return p.begin(in, i, active+1)
}

// begin enters a step whose guards hold.
func (p *plan) begin(in Input, i, next int) Outcome {
	t, s := &in.Status.Transitions[i], p.steps[next]
	for _, guard := range s.guards {
		if why := guard(in, t); why != "" {
			return say(in, i, next, why)
		}
	}
	d := newDraft(in, i)
	t = d.transition()
	if next > 0 {
		done := &t.Steps[next-1]
		done.Status, done.CompletedAt, done.Message = model.StepCompleted, in.Now, ""
	}
	t.Steps[next].Status, t.Steps[next].StartedAt, t.Steps[next].Message = model.StepActive, in.Now, ""
	if s.enter != nil {
		s.enter(in, d)
	}
	return d.outcome(fmt.Sprintf("%s of %s: %s", p.kind, in.Volume.Name, s.name))
}

// unconfirmed is who has not confirmed the step, and why.
func (s step) unconfirmed(in Input, t *model.Transition) string {
	for _, m := range in.Members {
		if m.Deleting() || !s.concerns(m) {
			continue
		}
		if !m.Known {
			return fmt.Sprintf("replica %s: no report of its node", name(m))
		}
		if why := s.confirm(in, t, m); why != "" {
			return fmt.Sprintf("replica %s: %s", name(m), why)
		}
	}
	return ""
}

// failure is what a member says that waiting will not cure.
func (s step) failure(in Input) string {
	if s.fails == nil {
		return ""
	}
	for _, m := range in.Members {
		if m.Deleting() || !s.concerns(m) || !m.Known {
			continue
		}
		if why := s.fails(m); why != "" {
			return fmt.Sprintf("replica %s: %s", name(m), why)
		}
	}
	return ""
}

// wait waits in a step, and gives up when its time is over.
func (p *plan) wait(in Input, i, active int, why string) Outcome {
	s := p.steps[active]
	if s.timeout == 0 || s.final {
		return say(in, i, active, why)
	}
	if in.InStep >= s.timeout {
		return Abandon(in, i, fmt.Sprintf("%s was not done after %s: %s", s.name, s.timeout, why))
	}
	out := say(in, i, active, why)
	out.Again = s.timeout - in.InStep
	return out
}

// Abandon writes that a transition is given up. It goes when its members have said that
// they no longer work on it.
func Abandon(in Input, i int, why string) Outcome {
	d := newDraft(in, i)
	t := d.transition()
	t.Abort = why
	return d.outcome(fmt.Sprintf("%s of %s: give up: %s", t.Type, in.Volume.Name, why))
}

// MayAbandon says why a transition can only be finished; "": it can be given up.
func MayAbandon(t *model.Transition) string {
	p := planOf(t)
	if p == nil {
		return "plan " + t.Plan + " is not known to this version"
	}
	for k, s := range p.steps {
		if s.final && t.Steps[k].Status != model.StepPending {
			return s.name + " has begun: it can only be finished"
		}
	}
	return ""
}

// abort ends a transition that is given up.
func (p *plan) abort(in Input, i int) Outcome {
	t := &in.Status.Transitions[i]
	if active := t.Active(); active >= 0 {
		for _, m := range in.Members {
			if m.Deleting() || !p.steps[active].concerns(m) {
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
	return d.outcome(fmt.Sprintf("%s of %s: given up: %s", p.kind, in.Volume.Name, t.Abort))
}

// say records what is waited for, when it changed; people read it.
func say(in Input, i, stepIndex int, why string) Outcome {
	if in.Status.Transitions[i].Steps[stepIndex].Message == why {
		return Outcome{Wait: why}
	}
	d := newDraft(in, i)
	s := &d.transition().Steps[stepIndex]
	s.Message = why
	out := d.outcome(fmt.Sprintf("%s of %s: %s: %s", d.transition().Type, in.Volume.Name, s.Name, why))
	out.Wait = why
	return out
}

func name(m Member) string {
	if m.Node == "" {
		return fmt.Sprint(m.ID)
	}
	return fmt.Sprintf("%d (%s)", m.ID, m.Node)
}
