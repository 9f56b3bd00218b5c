package admin

import (
	"slices"
	"strings"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// The kinds of event.
const (
	eventPlacement  = "placement"  // replicas were given a place
	eventReject     = "reject"     // something was refused, or nowhere to go
	eventRetry      = "retry"      // what was given up, or went wrong, begins again
	eventRepair     = "repair"     // a lost or failed replica is replaced
	eventFence      = "fence"      // who may go on, and who may not
	eventTransition = "transition" // a volume, its replicas or its users change, step by step
	eventChange     = "change"     // all the rest
)

var eventKinds = []string{eventPlacement, eventReject, eventRetry, eventRepair, eventFence, eventTransition, eventChange}

func checkKinds(r *adminv1.ListEventsRequest) error {
	for _, k := range r.GetKinds() {
		if !slices.Contains(eventKinds, k) {
			return door.Invalid(model.Key{}, "kind of event %q: want one of %s", k, strings.Join(eventKinds, ", "))
		}
	}
	return nil
}

// kindOfEvent says what kind of thing a transaction did, by who did it and what it says of itself.
func kindOfEvent(h state.Header) string {
	if h.Refusal != nil {
		return eventReject
	}
	for _, k := range telling {
		if !strings.HasPrefix(h.Actor, k.actor) || k.object != "" && !slices.ContainsFunc(h.Put, func(p model.Key) bool { return p.Kind == k.object }) {
			continue
		}
		if strings.HasPrefix(h.Cause, k.begins) && strings.HasSuffix(h.Cause, k.ends) && strings.Contains(h.Cause, k.says) {
			return k.kind
		}
	}
	return eventChange
}

// telling is by what the kind of an event is known; the first row that fits counts. What is
// empty fits everything.
var telling = []struct {
	kind               string
	actor              string     // begins so
	begins, ends, says string     // the cause
	object             model.Kind // is put
}{
	{kind: eventRepair, actor: "controller/repair"},
	{kind: eventPlacement, actor: "controller/scheduling", begins: "place "},
	{kind: eventReject, actor: "controller/scheduling", ends: ": nowhere to place a replica"},
	{kind: eventFence, begins: "fence node "},
	{kind: eventFence, begins: "lift the fence of node "},
	{kind: eventFence, actor: "controller/node", ends: ": lift its fence"},
	{kind: eventFence, actor: "agent/", ends: " goes on alone"},
	{kind: eventRetry, begins: "try replica "},
	{kind: eventRetry, begins: "try volume "},
	{kind: eventRetry, says: ": start again (restart "},
	{kind: eventTransition, actor: "controller/transition"},
	{kind: eventTransition, actor: "controller/volume"},
	{kind: eventTransition, actor: "controller/attachment"},
	{kind: eventTransition, actor: "controller/release"},
	{kind: eventTransition, actor: "controller/leftover"},
	{kind: eventTransition, actor: "controller/rollout"},
	{kind: eventTransition, object: model.KindVolumeStatus},
	{kind: eventTransition, object: model.KindAttachment},
}

// overtaken says that a change was refused because somebody else was faster, or came twice:
// it was tried again, and that is told.
func overtaken(h state.Header) bool {
	return h.Refusal != nil && (h.Refusal.Constraint == model.ConstraintExpect || h.Refusal.Constraint == model.ConstraintRequest)
}
