package transition

import (
	"slices"
	"time"

	"rvol/coordinator/model"
)

// plan is one kind of change.
type plan struct {
	name  string // with its version: "resize/v1"
	kind  string
	steps []step // those that a change of this kind may have; the stored change lists those that it has
	// compatible: it moves no data, and may be under way beside others.
	compatible bool
	// finish writes what the change has led to; nil: the steps have.
	finish func(in Input, d *draft)
	// giveUp writes that it led to nothing, once nobody works on it any more; nil: the change
	// goes back by steps.
	giveUp func(in Input, d *draft)
}

// step is one part of a plan.
type step struct {
	name    string
	guards  []guard
	enter   func(at, *draft)        // what changes when it begins; nil: that it is active
	confirm func(at, Member) string // why a member has not confirmed; "": it has
	// concerns says who must confirm.
	concerns func(at, Member) bool
	// fails says that a member never will, and why; nil: none says so.
	fails   func(Member) string
	timeout time.Duration // after which it is given up; 0: never
	slow    time.Duration // after which it is said that it takes long; 0: never
	final   bool          // from here on it can only be finished
}

// guard says why a step may not begin; "": it may.
type guard func(at) string

// at is one step of a transition under way, with the world around it.
type at struct {
	Input
	index int // of the transition
	step  int // in it
}

// change is the transition.
func (a at) change() *model.Transition { return &a.Status.Transitions[a.index] }

// stored is the step as it is written down.
func (a at) stored() *model.TransitionStep { return &a.change().Steps[a.step] }

// subject is the replica that the step is about; the zero Member: it is gone.
func (a at) subject() Member {
	if s := a.stored(); s.Replica != nil {
		if m, ok := a.replica(*s.Replica); ok {
			return m
		}
	}
	return Member{Replica: &model.Replica{ID: -1}}
}

func planOf(t *model.Transition) *plan {
	i := slices.IndexFunc(plans, func(p *plan) bool { return p.name == t.Plan })
	if i < 0 {
		return nil
	}
	return plans[i]
}

// find is a step of the plan by its name; nil: the plan has none of that name.
func (p *plan) find(name string) *step {
	i := slices.IndexFunc(p.steps, func(s step) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return &p.steps[i]
}

// start makes the stored form of a change with the given steps: none is active yet.
func (p *plan) start(now time.Time, title string, steps []model.TransitionStep) model.Transition {
	for i := range steps {
		steps[i].Status = model.StepPending
	}
	return model.Transition{Type: p.kind, Plan: p.name, Title: title, Compatible: p.compatible, StartedAt: now, Steps: steps}
}

// draft is the volume's status as it is to be, and what else is to be written.
type draft struct {
	status *model.VolumeStatus
	index  int // of the transition in status
	step   int // that is entered
	put    []model.Object
	del    []model.Object
}

func newDraft(in Input, index int) *draft {
	return &draft{status: model.Clone(in.Status), index: index}
}

func (d *draft) transition() *model.Transition { return &d.status.Transitions[d.index] }

// revise moves the mesh to a revision that the members confirm in the step at hand.
func (d *draft) revise() {
	d.status.Datamesh.Revision++
	d.transition().Steps[d.step].Revision = d.status.Datamesh.Revision
}

// remove takes the transition out of the status.
func (d *draft) remove() {
	d.status.Transitions = slices.Delete(d.status.Transitions, d.index, d.index+1)
}

func (d *draft) outcome(cause string) Outcome {
	return Outcome{Put: append(d.put, d.status), Delete: d.del, Cause: cause}
}
