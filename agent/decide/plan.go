package decide

import (
	"fmt"
	"regexp"
	"strings"

	"rvol/drbd"
)

// Input is all that a decision may look at.
type Input struct {
	Desired  Desired
	Kept     []Resource // of earlier orders: the newest does not name them, and none released them
	Observed Observed
	Facts    Facts
}

// A Plan is what to do about one key now. Its steps are carried out in order;
// after the last, or after one that failed, the machine is looked at again.
type Plan struct {
	Steps    []Step
	States   []ReplicaState
	Released []string // reservations whose volume is proven gone
}

// String lists the steps, one per line.
func (p Plan) String() string {
	var b strings.Builder
	for _, s := range p.Steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// Next says what to do about one key of the order now.
func Next(in Input, key string) Plan {
	p := &planner{in: in, key: key}
	p.passive = in.Desired.Hold || !in.Facts.Confirmed
	p.file, p.hasFile = in.Observed.Files[key]
	p.owner, _ = OwnerOf(p.file)
	p.up, p.isUp = in.Observed.Resource(key)
	if p.releases() {
		return p.plan
	}
	if r, ok := in.Desired.Resource(key); ok {
		p.resource(r)
	} else if r, ok := in.forgotten(key); ok {
		p.revive(r)
	}
	for _, op := range in.Desired.Operations {
		if op.Type == CreateVGOperation && in.Desired.operationKey(op) == key && !p.passive {
			p.createVG(op)
		}
	}
	return p.plan
}

// planner collects the plan for one key.
type planner struct {
	in      Input
	key     string
	plan    Plan
	passive bool // nothing is made, taken away or changed
	file    string
	hasFile bool
	owner   Owner
	up      drbd.Resource
	isUp    bool
}

func (p *planner) add(steps ...Step) { p.plan.Steps = append(p.plan.Steps, steps...) }

// make is a step that makes something, which waits while nothing may be made.
func (p *planner) make(s Step) (Step, *Refusal) {
	if p.passive {
		return nil, refuse(Other, "waiting for a coordinator to confirm the order before: %s", s)
	}
	return s, nil
}

// nameRE is what becomes part of file names and command lines.
var nameRE = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,126}$`)

// drbdUsable says why nothing can be said or done about DRBD.
func (p *planner) drbdUsable() *Refusal {
	switch o := p.in.Observed; {
	case o.NoDRBD != "":
		return refuse(NoTool, "DRBD cannot be used: %s", o.NoDRBD)
	case o.DRBDError != "":
		return refuse(Other, "DRBD is not completely known: %s", o.DRBDError)
	case o.FileError != "":
		return refuse(Other, "the .res files cannot be read: %s", o.FileError)
	}
	return nil
}

// heldOpen says who keeps a resource from being demoted or taken down, as far
// as it is known before trying.
func (p *planner) heldOpen(what string) *Refusal {
	for _, d := range p.up.Devices {
		if d.Open == drbd.Yes {
			return refuse(InUse, "%s: /dev/drbd%d of %s is in use on this node: unmount it or end who has it open", what, d.Minor, p.key)
		}
	}
	return nil
}
