package control

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/decide/scheduling"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Scheduling gives replicas a node, a place, numbers and their reservations: all of a
// volume's replicas in one transaction, or none (seed 000). What it remembers between
// decisions makes it faster and lets many placements be proposed at a time; the state
// judges each of them.
type Scheduling struct{ *planning }

// NewScheduling makes the controller of one term of leadership.
func NewScheduling() Scheduling { return Scheduling{newPlanning()} }

// Name is the controller's name.
func (Scheduling) Name() string { return "scheduling" }

// Workers is how many volumes are decided at a time, so that placements share entries of
// the log.
func (Scheduling) Workers() int { return 64 }

// Affected names the volume itself; and all that wait for a place when there may be one:
// space released, capacity grown, settings changed, a pool or node added, a node Ready again.
func (c Scheduling) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindVolume, model.KindVolumeStatus:
		return []string{changed.Name}
	case model.KindReplica:
		volume, _, _ := strings.Cut(changed.Name, "/")
		if _, ok := state.Get[*model.Replica](v, changed.Name); !ok {
			return append(c.wake(v), volume) // one went: its node is free again
		}
		return []string{volume}
	case model.KindReservation:
		if r, ok := state.Get[*model.Reservation](v, changed.Name); ok && r.State == model.Reserved {
			return nil // taken, not given back
		}
		return c.wake(v)
	case model.KindCapacity, model.KindPoolStatus:
		return c.wake(v)
	default:
	}
	return nil
}

// wake names all that wait, once for each state: many keys change at a time.
func (c Scheduling) wake(v state.View) []string {
	if c.woken.Swap(v.Index()) == v.Index() {
		return nil
	}
	return waiting(v)
}

// waiting lists the volumes that have a replica without a place, those that wait longest first.
func waiting(v state.View) []string {
	var untried, out []string
	seen := map[string]bool{}
	for r := range v.Unscheduled() {
		switch {
		case seen[r.Volume]:
		case r.WaitingSince == 0:
			untried = append(untried, r.Volume)
		default:
			out = append(out, r.Volume)
		}
		seen[r.Volume] = true
	}
	return append(out, untried...)
}

// AffectedBy names none: only committed capacity is reserved from.
func (Scheduling) AffectedBy(string, state.View) []string { return nil }

// All lists the volumes that wait, and those whose decisions may have outlived them.
func (Scheduling) All(v state.View) []string {
	out := waiting(v)
	for d := range state.All[*model.Decision](v) {
		if _, ok := state.Get[*model.Volume](v, d.Volume); !ok && !slices.Contains(out, d.Volume) {
			out = append(out, d.Volume)
		}
	}
	return out
}

// soon is when to look again at what only waits for proposals under way.
const soon = 20 * time.Millisecond

// Decide runs the rules over the volume's replicas and writes down what they chose.
func (c Scheduling) Decide(w World, key string) (out Outcome, err error) {
	c.pass(func() { out, err = c.decide(w, key) })
	return out, err
}

func (c Scheduling) decide(w World, key string) (Outcome, error) {
	if w.Latest != nil {
		w.State = w.Latest() // what was proposed and is no longer under way is in it
	}
	vol, ok := state.Get[*model.Volume](w.State, key)
	if !ok {
		return c.forget(w, key), nil
	}
	vs, has := state.Get[*model.VolumeStatus](w.State, key)
	replicas := slices.Collect(state.Under[*model.Replica](w.State, key+"/"))
	if !has || !needsPlace(replicas) {
		return Outcome{}, nil
	}
	in := c.input(w.State, vol, vs, replicas)
	got := scheduling.Run(in.Input)
	if !got.Whole() && in.flying {
		return Outcome{Again: soon, Reason: "proposals under way may leave no room"}, nil
	}
	p := placing{
		w: w, plan: c.planning, vol: vol, vs: vs, in: in, got: got, flight: newFlight(),
		b: state.NewTxn(Actor(c), key+": nowhere to place a replica"),
	}
	if err := p.write(replicas); err != nil {
		return Outcome{}, err
	}
	if err := p.numberAccess(replicas); err != nil {
		return Outcome{}, err
	}
	if !p.b.Empty() {
		c.fly(key, p.flight)
	}
	return Outcome{Txn: p.b, Done: func(err error) { c.leave(func() { c.landed(w, key, err) }) }}, nil
}

// forget removes what was decided about a volume that is no more.
func (c Scheduling) forget(w World, volume string) Outcome {
	delete(c.refused, volume)
	b := state.NewTxn(Actor(c), "forget why "+volume+" was where it was")
	for d := range state.Under[*model.Decision](w.State, volume+"/") {
		b.Delete(d)
	}
	return Outcome{Txn: b}
}

func needsPlace(rs []*model.Replica) bool {
	return slices.ContainsFunc(rs, func(r *model.Replica) bool {
		return !r.Deleting() && (r.Type != model.Access && !r.Conditions.Is("Scheduled", model.True) || unnumbered(r))
	})
}

// unnumbered says that an Access replica, whose node is given, has no numbers there yet.
func unnumbered(r *model.Replica) bool {
	return r.Type == model.Access && r.Node != "" && r.Port == 0 && !r.Deleting()
}

// nowhere tells a replica that has a place why it does not take it.
func nowhere(got scheduling.Result, at scheduling.Place) string {
	for _, p := range got.Replicas {
		if p.Scheduled == scheduling.False || p.Scheduled == scheduling.Unknown {
			return fmt.Sprintf("%s would do, but replica %d has no place: a volume is placed whole or not at all", where(at), p.ID)
		}
	}
	return ""
}
