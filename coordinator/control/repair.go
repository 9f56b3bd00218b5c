package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/decide/repair"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Repair replaces what a volume has lost, and moves what is no longer where its class wants
// it: so many at a time, and back when what was lost comes back first.
type Repair struct {
	Limits repair.Limits // zero: the defaults
}

// Name is the controller's name.
func (Repair) Name() string { return "repair" }

// Workers is one: who begins a repair must see all those that have begun.
func (Repair) Workers() int { return 1 }

// Affected names the volumes that a changed record belongs to.
func (Repair) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindVolume, model.KindVolumeStatus:
		return []string{changed.Name}
	case model.KindReplica, model.KindAttachment:
		volume, _, _ := strings.Cut(changed.Name, "/")
		return []string{volume}
	case model.KindNode, model.KindNodeStatus:
		return volumesOn(v, changed.Name)
	case model.KindCapacity:
		node, _, _ := strings.Cut(changed.Name, "/")
		return volumesOn(v, node)
	case model.KindPoolStatus:
		return namesOf(v.VolumesInPool(changed.Name))
	case model.KindClass:
		return namesOf(v.VolumesOfClass(changed.Name))
	default:
	}
	return nil
}

// AffectedBy names the volumes with a replica on the node.
func (Repair) AffectedBy(node string, v state.View) []string { return volumesOn(v, node) }

// All lists all volumes.
func (Repair) All(v state.View) []string { return names[*model.VolumeStatus](v) }

// tryAgain is how often a repair that may not begin is tried: what it waits for may wake nobody.
const tryAgain = 15 * time.Second

// Decide goes back from a repair that is not needed any more, begins one that is due, and
// says what is wrong and what that waits for.
func (c Repair) Decide(w World, key string) (Outcome, error) {
	vol, ok := state.Get[*model.Volume](w.State, key)
	vs, has := state.Get[*model.VolumeStatus](w.State, key)
	if !ok || !has || vol.Deleting() || vol.Stopped || !vs.Formed || vs.Configuration == nil {
		return Outcome{}, nil
	}
	facts := c.volume(w, vol, vs)
	if b := c.settle(w, vol, vs, facts); b != nil {
		return Outcome{Txn: b}, nil
	}
	got := repair.Decide(facts)
	out := Outcome{Again: got.Again, Reason: got.Why}
	if i := slices.IndexFunc(vs.Transitions, func(t model.Transition) bool { return t.Repair != "" }); i >= 0 {
		got = repair.Verdict{Reason: repair.InProgress, Finding: repair.Finding{Why: vs.Transitions[i].Title}}
		out.Again = tryAgain
	}
	if got.Do != repair.Nothing {
		b, reason, why := c.begin(w, vol, vs, got)
		if b != nil {
			return Outcome{Txn: b}, nil
		}
		got.Reason, got.Why, out.Again, out.Reason = reason, got.Why+"; "+why, tryAgain, why
	}
	out.Txn = tell(w, c, vs, model.Condition{Type: repair.Needed, Reason: got.Reason, Message: got.Why})
	return out, nil
}

// tell keeps a condition of a volume that says what is wrong; without a reason nothing is.
// nil: it says so already.
func tell(w World, c Controller, vs *model.VolumeStatus, what model.Condition) *state.Build {
	old, was := vs.Conditions.Get(what.Type)
	if what.Reason == "" && !was || was && old.Reason == what.Reason && old.Message == what.Message {
		return nil
	}
	next := model.Clone(vs)
	if what.Reason == "" {
		next.Conditions = next.Conditions.Without(what.Type)
		return state.NewTxn(Actor(c), fmt.Sprintf("volume %s: %s no more", vs.Name, what.Type)).Put(next)
	}
	what.Status = model.True
	next.Conditions = next.Conditions.With(what, w.Now)
	return state.NewTxn(Actor(c), fmt.Sprintf("volume %s: %s: %s", vs.Name, what.Reason, what.Message)).Put(next)
}

// settle ends a repair whose lost copy is back: it stays if its successor is not complete.
func (c Repair) settle(w World, vol *model.Volume, vs *model.VolumeStatus, facts repair.Volume) *state.Build {
	for i := range vs.Transitions {
		end := ending(w, vol, vs, facts, i)
		if end == nil {
			continue
		}
		b := state.NewTxn(Actor(c), "")
		if err := Change(w, b, vol, end); err == nil && !b.Empty() {
			return b
		}
	}
	return nil
}

// ending is how a repair ends otherwise than it was meant to; nil: it goes on.
func ending(w World, vol *model.Volume, vs *model.VolumeStatus, facts repair.Volume, i int) func(transition.Input) (transition.Outcome, error) {
	t := &vs.Transitions[i]
	id := replaced(t)
	if t.Repair == "" || t.Repair == string(repair.NotEligible) || t.Abort != "" || id == nil {
		return nil
	}
	r := facts.Replica(*id)
	in := TransitionInput(w.State, w.Inventory, vol, vs, w.Now)
	filled := transition.Filled(in, i)
	if filled && transition.Lost(t) != nil && r.Known && r.Up {
		return func(in transition.Input) (transition.Outcome, error) { return transition.Returned(in, i), nil }
	}
	why := cmp.Or(fruitless(w, vs, t), needless(in, t, r, filled))
	if why == "" {
		return nil
	}
	return func(in transition.Input) (transition.Outcome, error) {
		return transition.Cancel(in, i, transition.Target{}, why)
	}
}

// needless says that what was lost is back and as good as any, before its successor was.
func needless(in transition.Input, t *model.Transition, r repair.Replica, filled bool) string {
	switch {
	case !filled && transition.Sound(in, r.ID):
		return r.Name + " is back, before its successor was complete"
	case r.Part == model.TieBreaker && transition.Lost(t) != nil && r.Known && r.Up:
		return r.Name + " is back, before its successor took its place"
	}
	return ""
}

// fruitless says why the successor that a repair makes will not be there soon: its node went
// away, or cannot make it. It is not a member yet, so another place is tried.
func fruitless(w World, vs *model.VolumeStatus, t *model.Transition) string {
	k := t.Active()
	if k < 0 || t.Steps[k].Name != transition.PlaceReplica || t.Steps[k].Replica == nil {
		return ""
	}
	r, ok := state.Get[*model.Replica](w.State, model.ReplicaName(vs.Name, *t.Steps[k].Replica))
	if !ok || r.Node == "" {
		return ""
	}
	why := unable(w, r)
	if w.Held("successor "+r.UID, why != "") < repair.DiskGrace || why == "" {
		return ""
	}
	return fmt.Sprintf("its successor %s is not made: node %s %s", r.Name, r.Node, why)
}

// unable says why the node of a replica cannot make it now.
func unable(w World, r *model.Replica) string {
	if st, ok := state.Get[*model.NodeStatus](w.State, r.Node); ok {
		if !st.Ready {
			return "is not Ready: " + st.Reason
		}
		if why := st.Capabilities.Lacks(model.LVM); why != "" {
			return "is not able to: " + why
		}
	}
	if seen := w.Inventory.Node(r.Node); seen.Known() && seen.Replicas[r.UID].Failed {
		return "gave up: " + seen.Replicas[r.UID].Error
	}
	return ""
}

// replaced is the replica that a transition takes away; nil: it takes none away.
func replaced(t *model.Transition) *int {
	for _, s := range t.Steps {
		if s.Name == transition.ReleaseReplica && s.Status == model.StepPending {
			return s.Replica
		}
	}
	return nil
}

// begin starts what is to be done, or says why it cannot.
func (c Repair) begin(w World, vol *model.Volume, vs *model.VolumeStatus, got repair.Verdict) (b *state.Build, reason, why string) {
	running, byNode := repairs(w.State)
	limits := c.Limits
	if limits == (repair.Limits{}) {
		limits = repair.DefaultLimits()
	}
	sources := copiesBut(w.State, vol.Name, got.ID)
	if why := limits.Room(running, byNode, sources); why != "" {
		return nil, repair.AwaitFailover, why
	}
	b = state.NewTxn(Actor(c), "")
	if at, ok := otherGroup(w.State, vol, vs, got); ok {
		if err := changeBacking(w, b, vol, rebase{got.ID, at, got.Cause}); err == nil {
			return b, "", ""
		}
		b = state.NewTxn(Actor(c), "")
	}
	err := Change(w, b, vol, func(in transition.Input) (transition.Outcome, error) {
		out, err := action(in, got)
		if err != nil {
			reason = repair.Blocked
			return out, err
		}
		reason = repair.AwaitFailover
		targets, err := placesOf(w.State, vol, out)
		if err == nil {
			err = asError(limits.Room(running, byNode, targets))
		}
		return out.ForRepair(string(got.Cause)), err
	})
	if err != nil {
		return nil, reason, strings.TrimPrefix(err.Error(), model.ErrBusy.Error()+": ")
	}
	return b, "", ""
}

func asError(why string) error {
	if why == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", model.ErrBusy, why)
}

// action is the change that a verdict asks for.
func action(in transition.Input, got repair.Verdict) (transition.Outcome, error) {
	anywhere := model.ReplicaPlace{}
	switch got.Do {
	case repair.Replace:
		return transition.Replace(in, got.ID, anywhere, false)
	case repair.Repair:
		return transition.Repair(in, got.ID)
	case repair.Add:
		return transition.AddDiskful(in, anywhere)
	case repair.AddTieBreaker:
		return transition.AddTieBreaker(in, anywhere)
	case repair.RemoveVote:
		return transition.RemoveTieBreaker(in, got.ID)
	case repair.Nothing:
	}
	return transition.Outcome{}, fmt.Errorf("%w: nothing to be done", model.ErrInvalid)
}

// placesOf are the nodes on which new replicas would be placed now. A change that could only
// wait for a place would keep others from beginning.
func placesOf(v state.View, vol *model.Volume, out transition.Outcome) ([]string, error) {
	added := out.Added()
	if len(added) == 0 {
		return nil, nil
	}
	replicas := slices.Concat(slices.Collect(state.Under[*model.Replica](v, vol.Name+"/")), added)
	slices.SortFunc(replicas, func(a, b *model.Replica) int { return cmp.Compare(a.ID, b.ID) })
	var nodes []string
	for _, p := range Plan(v, vol, out.Status(), replicas, 0).Replicas {
		if !slices.ContainsFunc(added, func(r *model.Replica) bool { return r.ID == p.ID }) {
			continue
		}
		if p.Place.Node == "" {
			return nil, fmt.Errorf("%w: there is no place for another: %s", model.ErrBusy, p.Message)
		}
		nodes = append(nodes, p.Place.Node)
	}
	return nodes, nil
}

// repairs counts those under way, and on how many of them each node works.
func repairs(v state.View) (running int, byNode map[string]int) {
	byNode = map[string]int{}
	for vs := range state.All[*model.VolumeStatus](v) {
		i := slices.IndexFunc(vs.Transitions, func(t model.Transition) bool { return t.Repair != "" })
		if i < 0 {
			continue
		}
		running++
		lost := -1
		if id := replaced(&vs.Transitions[i]); id != nil {
			lost = *id
		}
		for _, node := range copiesBut(v, vs.Name, lost) {
			byNode[node]++
		}
	}
	return running, byNode
}

// copiesBut are the nodes of a volume's copies, but for one of them.
func copiesBut(v state.View, volume string, but int) []string {
	var out []string
	for r := range state.Under[*model.Replica](v, volume+"/") {
		if r.Type == model.Diskful && r.ID != but && r.Node != "" && !r.Deleting() {
			out = append(out, r.Node)
		}
	}
	return out
}
