package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/decide/transition"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Transition takes the changes of formed volumes on, step by step.
type Transition struct{}

// Name is the controller's name.
func (Transition) Name() string { return "transition" }

// Affected names the volume that a changed record belongs to.
func (Transition) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindVolumeStatus:
		return []string{changed.Name}
	case model.KindReplica:
		volume, _, _ := strings.Cut(changed.Name, "/")
		return []string{volume}
	case model.KindReservation:
		if r, ok := state.Get[*model.Reservation](v, changed.Name); ok && r.OwnerKind == model.OwnerReplica {
			volume, _, _ := strings.Cut(r.Owner, "/")
			return []string{volume}
		}
	default:
	}
	return nil
}

// AffectedBy names the volumes with a replica on the node.
func (Transition) AffectedBy(node string, v state.View) []string { return volumesOn(v, node) }

// All lists all volumes.
func (Transition) All(v state.View) []string { return names[*model.VolumeStatus](v) }

// Decide takes the step that is due.
func (c Transition) Decide(w World, key string) (Outcome, error) {
	vol, ok := state.Get[*model.Volume](w.State, key)
	vs, has := state.Get[*model.VolumeStatus](w.State, key)
	if !ok || !has || vol.Deleting() || len(vs.Transitions) == 0 {
		w.Held("in step", false)
		return Outcome{}, nil
	}
	in := TransitionInput(w.State, w.Inventory, vol, vs, w.Now)
	in.InStep = stepTime(w, vs, in.Members)
	got := transition.Next(in)
	out := Outcome{Again: got.Again, Reason: got.Wait}
	if got.Changed() {
		out.Txn = transitionTxn(Actor(c), vol, got)
	}
	return out, nil
}

// transitionTxn makes a transaction of what a plan wants; a deletion that came in between wins.
func transitionTxn(actor string, vol *model.Volume, out transition.Outcome) *state.Build {
	b := state.NewTxn(actor, out.Cause)
	b.Expect(vol.Key(), vol.Revision)
	for _, o := range out.Put {
		b.Put(o)
	}
	return b
}

// stepTime is how long the active step has lasted while all agents had reported; it
// starts again with each step.
func stepTime(w World, vs *model.VolumeStatus, members []transition.Member) time.Duration {
	all := !slices.ContainsFunc(members, func(m transition.Member) bool { return !m.Deleting() && !m.Known })
	t := &vs.Transitions[0]
	active := t.Active()
	var in time.Duration
	for i, s := range t.Steps {
		if d := w.Held(t.Plan+" "+s.Name, all && i == active); i == active {
			in = d
		}
	}
	return in
}

// TransitionInput gathers what plans look at.
func TransitionInput(v state.View, seen inventory.View, vol *model.Volume, vs *model.VolumeStatus, now time.Time) transition.Input {
	in := transition.Input{Volume: vol, Status: vs, Now: now}
	for r := range state.Under[*model.Replica](v, vol.Name+"/") {
		m := transition.Member{Replica: r}
		for res := range v.ReservationsOf(model.OwnerReplica, r.Name) {
			m.Reservations = append(m.Reservations, res)
		}
		slices.SortFunc(m.Reservations, func(a, b *model.Reservation) int { return cmp.Compare(a.Device, b.Device) })
		if n := seen.Node(r.Node); n.Known() {
			m.Known = n.DRBDError == "" && n.StorageError == ""
			m.Accepted, m.State = n.Accepted.Index, n.Replicas[r.UID]
			m.Resource, m.Up = n.Resource(model.ResourceName(vol.Name))
		}
		in.Members = append(in.Members, m)
	}
	slices.SortFunc(in.Members, func(a, b transition.Member) int { return cmp.Compare(a.ID, b.ID) })
	return in
}

// Resize starts the growth of a volume: space for every copy in one transaction. False:
// it has those sizes already.
func Resize(w World, b *state.Build, vol *model.Volume, to []model.VolumeDevice) (bool, error) {
	v := w.State
	vs, ok := state.Get[*model.VolumeStatus](v, vol.Name)
	if !ok {
		return false, fmt.Errorf("%w: it is not formed yet", model.ErrBusy)
	}
	in := TransitionInput(v, w.Inventory, vol, vs, w.Now)
	var missing error
	out, err := transition.StartResize(in, to, func(usable int64, r *model.Reservation) int64 {
		lvg, ok := state.Get[*model.LVG](v, model.LVGName(r.Pool.Node, r.VGName))
		c, has := state.Get[*model.Capacity](v, r.Pool.String())
		switch {
		case !ok || !has || lvg.UUID != r.Pool.VG:
			missing = fmt.Errorf("%w: volume group %s on node %s is not offered", model.ErrNoSpace, r.VGName, r.Pool.Node)
			return 0
		case lvg.Unschedulable:
			missing = fmt.Errorf("%w: LVG %s is cordoned: nothing may grow there; `rvol lvg set %s --uncordon`", model.ErrNoSpace, lvg.Name, lvg.Name)
		}
		b.Expect(lvg.Key(), lvg.Revision)
		return BackingBytes(usable, vs.DRBD, c.ExtentSize)
	})
	if err == nil {
		err = missing
	}
	if err != nil || !out.Changed() {
		return false, err
	}
	b.Because(out.Cause).Expect(vol.Key(), vol.Revision)
	for _, o := range out.Put {
		b.Put(o)
	}
	return true, nil
}

// AbandonResize gives up the resize of a volume that is under way.
func AbandonResize(v state.View, b *state.Build, vol *model.Volume, why string, now time.Time) error {
	vs, ok := state.Get[*model.VolumeStatus](v, vol.Name)
	if !ok {
		return fmt.Errorf("%w: it is not being resized", model.ErrBusy)
	}
	for i := range vs.Transitions {
		t := &vs.Transitions[i]
		if t.Type != transition.ResizeVolume {
			continue
		}
		if t.Abort != "" {
			return nil
		}
		if obstacle := transition.MayAbandon(t); obstacle != "" {
			return fmt.Errorf("%w: %s", model.ErrBusy, obstacle)
		}
		out := transition.Abandon(transition.Input{Volume: vol, Status: vs, Now: now}, i, why)
		b.Because(out.Cause)
		for _, o := range out.Put {
			b.Put(o)
		}
		return nil
	}
	return fmt.Errorf("%w: it is not being resized", model.ErrBusy)
}
