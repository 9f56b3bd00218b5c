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
type Transition struct {
	MaxResyncs int // volumes that are copied to or from a node at a time; 0: DefaultMaxResyncs
}

// Name is the controller's name.
func (Transition) Name() string { return "transition" }

// Workers is one: who decides must see what everybody else copies, or more would begin at
// once than a node is to bear.
func (Transition) Workers() int { return 1 }

// Affected names the volume that a changed record belongs to.
func (Transition) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindVolumeStatus:
		return []string{changed.Name}
	case model.KindReplica, model.KindAttachment:
		volume, _, _ := strings.Cut(changed.Name, "/")
		return []string{volume}
	case model.KindNode, model.KindNodeStatus:
		return volumesOn(v, changed.Name)
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
		return Outcome{}, nil
	}
	in := TransitionInput(w.State, w.Inventory, vol, vs, w.Now)
	in.InStep = stepTimes(w, vs, in.Members)
	in.Resyncs, in.MaxResyncs = resyncs(w.State, key), cmp.Or(c.MaxResyncs, DefaultMaxResyncs)
	got := transition.Next(in)
	out := Outcome{Again: got.Again, Reason: got.Wait}
	if got.Changed() {
		out.Txn = state.NewTxn(Actor(c), "")
		carry(out.Txn, vol, got)
	}
	return out, nil
}

// carry adds to a transaction what a plan wants; a deletion that came in between wins.
func carry(b *state.Build, vol *model.Volume, out transition.Outcome) {
	b.Because(out.Cause)
	b.Expect(vol.Key(), vol.Revision)
	for _, o := range out.Put {
		b.Put(o)
	}
	for _, o := range out.Delete {
		b.Delete(o)
	}
}

// DefaultMaxResyncs is how many volumes are copied to or from a node at a time.
const DefaultMaxResyncs = 4

// resyncs is how many volumes but one have a transition that copies, by node.
func resyncs(v state.View, but string) map[string]int {
	out := map[string]int{}
	for vs := range state.All[*model.VolumeStatus](v) {
		if vs.Name == but || !transition.Resyncing(vs) {
			continue
		}
		for _, m := range vs.Datamesh.Members {
			if m.Type == model.Diskful {
				out[m.Node]++
			}
		}
	}
	return out
}

// stepTimes is how long the active step of each transition has lasted while all agents had
// reported; it starts again with each step.
func stepTimes(w World, vs *model.VolumeStatus, members []transition.Member) []time.Duration {
	all := !slices.ContainsFunc(members, func(m transition.Member) bool { return !m.Deleting() && !m.Known })
	out := make([]time.Duration, len(vs.Transitions))
	for i := range vs.Transitions {
		t := &vs.Transitions[i]
		active := t.Active()
		for k := range t.Steps {
			if d := w.Held(fmt.Sprintf("in step %s %d %d", t.Plan, t.StartedAt.UnixNano(), k), all && k == active); k == active {
				out[i] = d
			}
		}
	}
	return out
}

// TransitionInput gathers what plans look at.
func TransitionInput(v state.View, seen inventory.View, vol *model.Volume, vs *model.VolumeStatus, now time.Time) transition.Input {
	in := transition.Input{Volume: vol, Status: vs, Now: now}
	zones := map[string]string{}
	if vs.Configuration != nil {
		in.Layout = VolumeLayout(vs)
		if ps, ok := state.Get[*model.PoolStatus](v, vs.Configuration.Pool); ok {
			for _, n := range ps.EligibleNodes {
				zones[n.Node] = n.Zone
			}
		}
	}
	for r := range state.Under[*model.Replica](v, vol.Name+"/") {
		m := transitionMember(v, seen, r)
		m.Zone = zones[r.Node]
		in.Members = append(in.Members, m)
	}
	slices.SortFunc(in.Members, func(a, b transition.Member) int { return cmp.Compare(a.ID, b.ID) })
	return in
}

// transitionMember is a replica with what is known of it and of its node.
func transitionMember(v state.View, seen inventory.View, r *model.Replica) transition.Member {
	m := transition.Member{Replica: r}
	for res := range v.ReservationsOf(model.OwnerReplica, r.Name) {
		if res.State != model.Releasing || r.Deleting() { // else it stood on it before
			m.Reservations = append(m.Reservations, res)
		}
	}
	slices.SortFunc(m.Reservations, func(a, b *model.Reservation) int { return cmp.Compare(a.Device, b.Device) })
	if node, ok := state.Get[*model.Node](v, r.Node); ok {
		m.Fenced = node.Fenced != nil
	}
	if st, ok := state.Get[*model.NodeStatus](v, r.Node); ok {
		m.HostName, m.Addresses = st.HostName, st.Addresses
	}
	_, m.InUse = state.Get[*model.Attachment](v, model.AttachmentName(r.Volume, r.Node))
	if n := seen.Node(r.Node); n.Known() {
		m.Known = n.DRBDError == "" && n.StorageError == ""
		m.Accepted, m.State = n.Accepted.Index, n.Replicas[r.UID]
		m.Resource, m.Up = n.Resource(model.ResourceName(r.Volume))
	}
	return m
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
	carry(b, vol, out)
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
