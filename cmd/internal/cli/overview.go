package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	adminv1 "rvol/proto/admin/v1"
)

// overview is all that `rvol status` judges.
type overview struct {
	cluster *adminv1.ClusterStatus
	nodes   []*adminv1.Node
	groups  []*adminv1.LVG
	volumes []*adminv1.Volume
}

// overviewReads are the kinds whose changes may change it.
var overviewReads = []string{ // a list that nobody changes
	"cluster", "member", "node", "node.status", "lvg", "capacity", "volume", "volume.status", "replica", "attachment", "reservation",
}

func (a *app) overview(ctx context.Context) (o overview, err error) {
	if o.cluster, err = a.status(ctx); err != nil {
		return o, err
	}
	all := &adminv1.ListRequest{Stale: a.flags.stale}
	if o.nodes, err = a.nodes().list(ctx, all); err != nil {
		return o, err
	}
	if o.groups, err = a.lvgs().list(ctx, all); err != nil {
		return o, err
	}
	o.volumes, err = a.volumes().list(ctx, all)
	return o, err
}

// problem is one thing that wants an operator.
type problem struct {
	Object string `json:"object" yaml:"object"` // as in "volume db-1"
	State  string `json:"state" yaml:"state"`   // a word
	Why    string `json:"why" yaml:"why"`
	Next   string `json:"next" yaml:"next"` // what to do
}

// nearlyFull is the percentage of a thin pool's data or metadata that is worth a word before growth stops.
const nearlyFull = 80

// problems lists what is wrong: volumes first, because they are what it is all for, the worst of them first.
func (o overview) problems() []problem {
	return slices.Concat(o.volumeProblems(), o.nodeProblems(), o.groupProblems(), o.memberProblems())
}

// The states of volumes that want an operator, from the worst.
var wrongStates = []string{"unavailable", "suspended", "unknown", "degraded"} // a list that nobody changes

func (o overview) volumeProblems() []problem {
	var list []problem
	for _, state := range wrongStates {
		for _, v := range o.volumes {
			if v.GetState() == state {
				name := v.GetMeta().GetName()
				list = append(list, problem{"volume " + name, state, v.GetMessage(), "rvol volume show " + name})
			}
		}
	}
	for _, v := range o.volumes {
		if why := forming(v).noPlace; why != "" {
			name := v.GetMeta().GetName()
			list = append(list, problem{"volume " + name, "without a place", why, "make room, or see what else there is: rvol explain volume " + name})
		}
	}
	return list
}

func (o overview) nodeProblems() []problem {
	var list []problem
	for _, n := range o.nodes {
		name := n.GetMeta().GetName()
		object := "node " + name
		switch {
		case n.GetFenced():
			list = append(list, problem{object, "fenced", "an operator said that it is off", "when it is on again: rvol node unfence " + name})
		case !n.GetReady():
			list = append(list, problem{object, "NotReady", n.GetStatusReason(), "bring it back; if it is dead and its volumes are needed elsewhere: rvol node fence " + name})
		}
		for _, c := range n.GetConditions() {
			if c.GetStatus() == "False" {
				list = append(list, problem{object, c.GetType() + "=False", c.GetMessage(), "rvol node show " + name})
			}
		}
	}
	return list
}

func (o overview) groupProblems() []problem {
	var list []problem
	for _, g := range o.groups {
		name := g.GetMeta().GetName()
		if ready := condition(g.GetConditions(), "Ready"); ready.GetStatus() == "False" {
			list = append(list, problem{"lvg " + name, "NotReady", ready.GetMessage(), "rvol lvg show " + name})
		}
		for _, s := range g.GetSpaces() {
			object, next := "lvg "+name, "rvol lvg show "+name
			if pool := s.GetThinPool(); pool != "" {
				object, next = "thin pool "+name+"/"+pool, fmt.Sprintf("on %s: lvextend %s/%s", g.GetNode(), g.GetVg(), pool)
			}
			switch full := max(s.GetDataPercent(), s.GetMetadataPercent()); {
			case s.GetGrowthStopped() != "":
				list = append(list, problem{object, "full", "growth stopped: " + s.GetGrowthStopped(), next})
			case s.GetThinPool() == "" && !g.GetThickOff() && s.GetLimit() > 0 && 10*s.GetReserved() >= 9*s.GetLimit():
				why := fmt.Sprintf("%s of %s are reserved", humanSize(s.GetReserved()), humanSize(s.GetLimit()))
				list = append(list, problem{object, "nearly full", why, fmt.Sprintf("on %s: vgextend %s, or move replicas: rvol replica move", g.GetNode(), g.GetVg())})
			case full >= nearlyFull:
				why := fmt.Sprintf("data %s, metadata %s", percent(s.GetDataPercent()), percent(s.GetMetadataPercent()))
				list = append(list, problem{object, "nearly full", why, next})
			}
		}
	}
	return list
}

func (o overview) memberProblems() []problem {
	var list []problem
	if o.cluster.GetLeader() == "" {
		list = append(list, problem{
			"cluster", "without a leader", "last heard of one " + dash(duration(o.cluster.GetLeaderContact())) + " ago; nothing is decided, volumes go on",
			"bring a majority of them back",
		})
	}
	if o.cluster.GetReconciling() {
		list = append(list, problem{"cluster", "reconciling", "nothing is removed or given out after a restore", "rvol cluster status"})
	}
	for _, m := range o.cluster.GetMembers() {
		for _, c := range m.GetConditions() {
			if c.GetStatus() == "False" {
				list = append(list, problem{"coordinator " + m.GetName(), c.GetType() + "=False", c.GetMessage(), "rvol cluster members"})
			}
		}
	}
	return list
}

// work lists what rvol is doing by itself.
func (o overview) work() []string {
	var list []string
	say := func(what, how string) { list = append(list, strings.TrimSuffix(what+": "+how, ": ")) }
	for _, v := range o.volumes {
		name := "volume " + v.GetMeta().GetName()
		far := ""
		if p := leastSync(v); p != nil {
			far = " [" + percent(*p) + "]"
		}
		switch v.GetState() {
		case "forming", "deleting", "syncing":
			if forming(v).noPlace == "" { // else it is a problem
				say(name+" is "+v.GetState()+far, v.GetMessage())
			}
		}
		for _, t := range v.GetTransitions() {
			say(name+": "+cmp.Or(t.GetTitle(), t.GetType())+far, stepOf(t))
		}
		for _, at := range v.GetAttachments() {
			switch {
			case at.GetMeta().GetDeletingSince() != nil:
				say("attachment "+at.GetMeta().GetName()+" ends", at.GetMessage())
			case condition(at.GetConditions(), "Ready").GetStatus() == "False":
				say("attachment "+at.GetMeta().GetName()+" is not ready", at.GetMessage())
			}
		}
	}
	return list
}

// stepOf is what a transition is at.
func stepOf(t *adminv1.Transition) string {
	for _, s := range t.GetSteps() {
		if s.GetCompletedAt() == nil {
			return strings.TrimSuffix(s.GetName()+": "+s.GetMessage(), ": ")
		}
	}
	return "done"
}
