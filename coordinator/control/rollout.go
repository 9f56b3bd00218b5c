package control

import (
	"fmt"
	"slices"
	"strings"

	"rvol/coordinator/decide/rollout"
	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Rollout lets volumes take the configuration that their class has in force, so many at a
// time. Those for which nothing would change take it at once, whatever the strategy; those
// whose members only render their DRBD configuration anew take it in turn, and the next
// goes when every member has said that it runs it; those whose replicas have to change
// likewise, by a transition.
type Rollout struct{}

// Name is the controller's name.
func (Rollout) Name() string { return "rollout" }

// Affected names the class whose volumes, strategy or configuration changed.
func (Rollout) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindClass, model.KindClassStatus:
		return []string{changed.Name}
	case model.KindVolumeStatus, model.KindVolume:
		if vol, ok := state.Get[*model.Volume](v, changed.Name); ok {
			return []string{vol.Class}
		}
	case model.KindPoolStatus:
		return names[*model.Class](v)
	default:
	}
	return nil
}

// AffectedBy names the classes of the volumes on a node: its agent may have confirmed.
func (Rollout) AffectedBy(node string, v state.View) []string {
	var out []string
	for r := range v.ReplicasOn(node) {
		if vol, ok := state.Get[*model.Volume](v, r.Volume); ok && !slices.Contains(out, vol.Class) {
			out = append(out, vol.Class)
		}
	}
	return out
}

// All lists all classes.
func (Rollout) All(v state.View) []string { return names[*model.Class](v) }

// Decide lets the volumes whose turn it is take the configuration in force.
func (c Rollout) Decide(w World, key string) (Outcome, error) {
	cl, ok := state.Get[*model.Class](w.State, key)
	cs, has := state.Get[*model.ClassStatus](w.State, key)
	if !ok || !has || cs.Configuration == nil {
		return Outcome{}, nil
	}
	volumes := ClassVolumes(w.State, key)
	plan := storageclass.Rollout(cl, cs, volumes)
	b := state.NewTxn(Actor(c), "").Expect(cs.Key(), cs.Revision)
	var took, done, waits []string
	for _, v := range volumes {
		switch {
		case takes(w, cs, plan, v):
			if err := take(w, b, v, cl, cs); err != nil {
				waits = append(waits, fmt.Sprintf("%s: %v", v.Name, err))
				continue
			}
			took = append(took, v.Name)
		case v.Status != nil && v.Status.ConfiguringRevision != 0 && confirmed(w, v.Status, v.Name):
			next := model.Clone(v.Status)
			next.ConfiguringRevision = 0
			b.Put(seenBy(w, v, next, cl, cs))
			done = append(done, v.Name)
		}
	}
	if b.Empty() {
		return Outcome{Reason: strings.Join(append([]string{plan.String()}, waits...), "; ")}, nil
	}
	b.Because(rolloutCause(cs, took, done))
	return Outcome{Txn: b}, nil
}

// takes says whether it is a volume's turn to take the configuration in force.
func takes(w World, cs *model.ClassStatus, plan rollout.Plan, v storageclass.Volume) bool {
	if !behind(cs, v) {
		return false
	}
	if effectOn(w, cs, v) == rollout.None {
		return true
	}
	// An operator who gave the volume this class did not mean the strategy to hold it.
	asked := v.Status.ConfigurationGeneration == 0 && v.Status.Declined != cs.ConfigurationGeneration
	return slices.Contains(plan.Next, v.Name) || asked && !v.Stopped && !storageclass.Moving(v.Status)
}

// take lets a volume take the configuration in force: at once, or by a transition where its
// replicas have to change.
func take(w World, b *state.Build, v storageclass.Volume, cl *model.Class, cs *model.ClassStatus) error {
	if effectOn(w, cs, v) != rollout.Moves {
		b.Put(taken(w, v, cl, cs))
		return nil
	}
	to, err := targetOf(w.State, v.Volume, v.Status, cs.Configuration, cs.ConfigurationGeneration)
	if err != nil {
		return err
	}
	return Change(w, b, v.Volume, func(in transition.Input) (transition.Outcome, error) { return transition.ChangeLayout(in, to) })
}

func rolloutCause(cs *model.ClassStatus, took, done []string) string {
	var parts []string
	if len(took) > 0 {
		parts = append(parts, "is taken by "+rollout.Names(took))
	}
	if len(done) > 0 {
		parts = append(parts, "runs on every member of "+rollout.Names(done))
	}
	return fmt.Sprintf("class %s: generation %d %s", cs.Name, cs.ConfigurationGeneration, strings.Join(parts, ", "))
}

// taken is the status of a volume that takes the configuration in force. Where its members
// have to render theirs anew, the mesh moves to a new revision, which they confirm.
func taken(w World, v storageclass.Volume, cl *model.Class, cs *model.ClassStatus) *model.VolumeStatus {
	next := model.Clone(v.Status)
	cfg := *cs.Configuration
	next.Configuration, next.ConfigurationGeneration, next.ConfigurationObserved = &cfg, cs.ConfigurationGeneration, cs.ConfigurationGeneration
	if effectOn(w, cs, v) == rollout.Options {
		next.Datamesh.Revision++
		next.ConfiguringRevision = next.Datamesh.Revision
	}
	return seenBy(w, v, next, cl, cs)
}

func seenBy(w World, v storageclass.Volume, next *model.VolumeStatus, cl *model.Class, cs *model.ClassStatus) *model.VolumeStatus {
	next.Conditions = next.Conditions.With(configurationReady(v.Volume, next, cl, cs), w.Now)
	return next
}

// behind says that a formed volume runs another configuration than the one in force.
func behind(cs *model.ClassStatus, v storageclass.Volume) bool {
	vs := v.Status
	return vs != nil && vs.Formed && vs.Configuration != nil && !v.Deleting() && vs.ConfigurationGeneration != cs.ConfigurationGeneration
}

// effectOn is what the configuration in force asks of a volume that is behind.
func effectOn(w World, cs *model.ClassStatus, v storageclass.Volume) rollout.Effect {
	return rollout.Between(v.Status.Configuration, cs.Configuration, samePlaces(w, cs.Configuration.Pool, v.Name))
}

// samePlaces says whether all placed replicas of a volume stand where a pool allows them.
func samePlaces(w World, pool, volume string) bool {
	ps, ok := state.Get[*model.PoolStatus](w.State, pool)
	if !ok {
		return false
	}
	for r := range state.Under[*model.Replica](w.State, volume+"/") {
		if r.Node != "" && !r.Deleting() && !eligibleFor(ps, r) {
			return false
		}
	}
	return true
}

// confirmed says whether every member of a volume has said that it runs the revision at
// which it was told to render its configuration anew.
func confirmed(w World, vs *model.VolumeStatus, volume string) bool {
	for _, m := range vs.Datamesh.Members {
		r, ok := state.Get[*model.Replica](w.State, model.ReplicaName(volume, m.ID))
		if !ok {
			continue
		}
		seen := w.Inventory.Node(m.Node)
		if !seen.Known() || seen.Replicas[r.UID].AppliedRevision < vs.ConfiguringRevision {
			return false
		}
	}
	return true
}
