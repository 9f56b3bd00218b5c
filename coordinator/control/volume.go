package control

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/decide/formation"
	"rvol/coordinator/decide/repair"
	"rvol/coordinator/decide/rollout"
	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Volume gives a volume its configuration, forms it, and takes it away (seed 001).
type Volume struct{}

// Name is the controller's name.
func (Volume) Name() string { return "volume" }

// Affected names the volume that a changed record belongs to, and those that follow a
// changed class or pool.
func (Volume) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindVolume, model.KindVolumeStatus:
		return []string{changed.Name}
	case model.KindReplica, model.KindAttachment:
		volume, _, _ := strings.Cut(changed.Name, "/")
		return []string{volume}
	case model.KindReservation, model.KindOperation:
		return ownerVolume(changed, v)
	case model.KindClassStatus:
		return namesOf(v.VolumesOfClass(changed.Name))
	case model.KindPoolStatus:
		return namesOf(v.VolumesInPool(changed.Name))
	default:
		return nil
	}
}

// ownerVolume is the volume of a reservation or operation; when a reservation went, any
// volume that is being deleted may have waited for it.
func ownerVolume(changed model.Key, v state.View) []string {
	if op, ok := state.Get[*model.Operation](v, changed.Name); ok && changed.Kind == model.KindOperation {
		return []string{op.Volume}
	}
	if changed.Kind == model.KindOperation {
		return nil
	}
	if r, ok := state.Get[*model.Reservation](v, changed.Name); ok {
		volume, _, _ := strings.Cut(r.Owner, "/")
		return []string{volume}
	}
	return deletingVolumes(v)
}

func deletingVolumes(v state.View) []string {
	var out []string
	for vol := range state.All[*model.Volume](v) {
		if vol.Deleting() {
			out = append(out, vol.Name)
		}
	}
	return out
}

// AffectedBy names the volumes with a replica on the node.
func (Volume) AffectedBy(node string, v state.View) []string { return volumesOn(v, node) }

// All lists all volumes.
func (Volume) All(v state.View) []string { return names[*model.Volume](v) }

// Decide does the first thing that is due: end it, configure it, form it, judge it.
func (c Volume) Decide(w World, key string) (Outcome, error) {
	vol, ok := state.Get[*model.Volume](w.State, key)
	if !ok {
		stopClocks(w)
		return Outcome{}, nil
	}
	vs := &model.VolumeStatus{}
	vs.Name = key
	if old, ok := state.Get[*model.VolumeStatus](w.State, key); ok {
		vs = old
	}
	if vol.Deleting() {
		stopClocks(w)
		return c.end(w, vol, vs), nil
	}
	if vs.Configuration == nil {
		return c.configure(w, vol, vs)
	}
	if out := c.write(vs, seesClass(w, vol, vs), "volume "+vol.Name+" sees class "+vol.Class); out.Txn != nil {
		return out, nil
	}
	if !vs.Formed {
		return c.form(w, vol, vs)
	}
	stopClocks(w)
	return c.judge(w, vol, vs), nil
}

// configure copies the class's configuration into the volume, once the class has one; and,
// after a restart of formation, only when the back-off has passed.
func (c Volume) configure(w World, vol *model.Volume, vs *model.VolumeStatus) (Outcome, error) {
	class, _ := state.Get[*model.Class](w.State, vol.Class)
	cs, _ := state.Get[*model.ClassStatus](w.State, vol.Class)
	next := model.Clone(vs)
	if class == nil || cs == nil || cs.Configuration == nil {
		next.Conditions = next.Conditions.With(configurationReady(vol, vs, class, cs), w.Now)
		return c.write(vs, next, "volume "+vol.Name+" waits for class "+vol.Class), nil
	}
	if formation.GivenUp(vs) {
		return c.revive(w, vol, vs, class, cs.Configuration.Pool), nil
	}
	delay := formation.Delay(vs.Restarts)
	if waited := w.Held("before restart", true); waited < delay {
		return Outcome{Again: delay - waited, Reason: fmt.Sprintf("restart %d of formation waits", vs.Restarts)}, nil
	}
	w.Held("before restart", false)
	ps, _ := state.Get[*model.PoolStatus](w.State, cs.Configuration.Pool)
	if ps == nil {
		return Outcome{Reason: "pool " + cs.Configuration.Pool + " has no eligible nodes yet"}, nil
	}
	cfg := *cs.Configuration
	next.Configuration, next.ConfigurationGeneration = &cfg, cs.ConfigurationGeneration
	next.ConfigurationObserved = cs.ConfigurationGeneration
	next.DRBD = storageclass.DRBD(class.FTT, class.GMDR, ps.EligibleNodes)
	next.Conditions = next.Conditions.With(configurationReady(vol, next, class, cs), w.Now)
	return c.write(vs, next, fmt.Sprintf("volume %s takes the configuration of class %s", vol.Name, vol.Class)), nil
}

// seesClass is the status once the volume has seen which configuration its class has in force.
func seesClass(w World, vol *model.Volume, vs *model.VolumeStatus) *model.VolumeStatus {
	class, _ := state.Get[*model.Class](w.State, vol.Class)
	cs, _ := state.Get[*model.ClassStatus](w.State, vol.Class)
	next := model.Clone(vs)
	if cs != nil && cs.Configuration != nil {
		next.ConfigurationObserved = cs.ConfigurationGeneration
	}
	next.Conditions = next.Conditions.With(configurationReady(vol, vs, class, cs), w.Now)
	return next
}

// configurationReady is the condition of seed 001. The class and its status may be nil.
func configurationReady(vol *model.Volume, vs *model.VolumeStatus, class *model.Class, cs *model.ClassStatus) model.Condition {
	c := model.Condition{Type: "ConfigurationReady", Status: model.False, ObservedGeneration: vol.Generation}
	switch {
	case class == nil:
		c.Reason, c.Message = "WaitingForStorageClass", "class "+vol.Class+" does not exist"
	case cs == nil || cs.Configuration == nil:
		c.Reason, c.Message = "WaitingForStorageClass", "class "+vol.Class+" is not ready"
	case vs.Declined != 0 && vs.Declined == cs.ConfigurationGeneration:
		c.Reason = "StaleConfiguration"
		c.Message = fmt.Sprintf("the change to generation %d of class %s was cancelled; `rvol volume set %s --class %s` begins it again",
			cs.ConfigurationGeneration, vol.Class, vol.Name, vol.Class)
	case transition.ChangingLayout(vs) != nil:
		c.Reason, c.Message = "ConfigurationRolloutInProgress", transition.ChangingLayout(vs).Title
	case vs.ConfigurationGeneration == 0:
		c.Reason, c.Message = "ConfigurationRolloutInProgress", "the configuration is not set yet"
	case vs.ConfigurationGeneration != cs.ConfigurationGeneration:
		c.Reason = "StaleConfiguration"
		c.Message = fmt.Sprintf("it runs generation %d of class %s, which is at %d", vs.ConfigurationGeneration, vol.Class, cs.ConfigurationGeneration)
		if rollout.Leaves(class.Rollout) {
			c.Message += "; the rollout is " + class.Rollout + ": it keeps what it runs"
		}
	case vs.ConfiguringRevision != 0:
		c.Reason = "ConfigurationRolloutInProgress"
		c.Message = fmt.Sprintf("not every member has said that it runs revision %d, the first with the new configuration", vs.ConfiguringRevision)
	default:
		c.Status, c.Reason = model.True, "Ready"
	}
	return c
}

// form takes one step of formation.
func (c Volume) form(w World, vol *model.Volume, vs *model.VolumeStatus) (Outcome, error) {
	vs = model.Clone(vs)
	vs.Pending = pending(w, vs) // written with what is written next: alone it is worth no entry
	in := formation.Input{
		Volume: vol, Status: vs, Layout: VolumeLayout(vs), Now: w.Now, Secret: w.Fresh() + w.Fresh(),
		Zeroing: func(p model.PoolID) bool {
			cap, ok := state.Get[*model.Capacity](w.State, p.String())
			return ok && cap.Zeroes
		},
	}
	for range in.Layout.Replicas() {
		in.UIDs = append(in.UIDs, strings.ToLower(w.Fresh()))
	}
	ps, ok := state.Get[*model.PoolStatus](w.State, vs.Configuration.Pool)
	if !ok {
		return Outcome{Reason: "pool " + vs.Configuration.Pool + " is gone"}, nil
	}
	in.Pool = ps
	in.Replicas = formationReplicas(w, vol.Name, ps)
	in.Operation = formationOperation(w.State, vol.Name)
	in.OldSecret, _ = state.Get[*model.Secret](w.State, model.VolumeSecret(vol.Name))
	in.InStep = inStep(w, vs, in.Replicas)
	got, err := formation.Next(in)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Again: got.Again, Reason: got.Wait}
	if !got.Changed() {
		return out, nil
	}
	b := state.NewTxn(Actor(c), got.Cause)
	b.Expect(vol.Key(), vol.Revision) // a deletion that came in between wins
	b.Expect(vs.Key(), vs.Revision)
	for _, o := range got.Put {
		if s, ok := o.(*model.Secret); ok && in.OldSecret != nil {
			s.Revision = in.OldSecret.Revision
		}
		b.Put(o)
	}
	for _, o := range got.Delete {
		b.Delete(o)
	}
	out.Txn = b
	return out, nil
}

// pending is what the volume's replicas ask of the mesh.
func pending(w World, vs *model.VolumeStatus) []model.PendingReplicaTransition {
	return formation.Pending(vs.Pending, vs.Datamesh.Members, slices.Collect(state.Under[*model.Replica](w.State, vs.Name+"/")), w.Now)
}

// inStep is how long the active step has lasted while every agent concerned had
// reported. Only the clock of the active step runs. An agent whose node the pool has
// given up is not waited for: that is decided, and formation goes on elsewhere.
func inStep(w World, vs *model.VolumeStatus, rs []formation.Replica) time.Duration {
	all := true
	for _, r := range rs {
		if !r.Deleting() && (!r.Known && r.Eligible || !r.Conditions.Is("Scheduled", model.True)) {
			all = false
		}
	}
	active := ""
	if vs.Formation != nil {
		if i := vs.Formation.Active(); i >= 0 {
			active = vs.Formation.Steps[i].Name
		}
	}
	var in time.Duration
	for _, step := range formationSteps {
		if d := w.Held(step, all && step == active); step == active {
			in = d
		}
	}
	return in
}

var formationSteps = []string{formation.Preconfigure, formation.EstablishConnectivity, formation.BootstrapData}

func stopClocks(w World) {
	for _, step := range formationSteps {
		w.Held(step, false)
	}
	w.Held("before restart", false)
}

// formationReplicas gathers the volume's replicas with what their agents say.
func formationReplicas(w World, volume string, ps *model.PoolStatus) []formation.Replica {
	var out []formation.Replica
	pool, ok := state.Get[*model.Pool](w.State, ps.Name)
	if !ok {
		pool = &model.Pool{}
	}
	for r := range state.Under[*model.Replica](w.State, volume+"/") {
		f := formation.Replica{Replica: r, Lacks: lacks(w, r, pool.Type)}
		f.Eligible = eligibleFor(ps, r) && f.Lacks == ""
		for res := range w.State.ReservationsOf(model.OwnerReplica, r.Name) {
			f.Reservations = append(f.Reservations, res)
		}
		slices.SortFunc(f.Reservations, func(a, b *model.Reservation) int { return a.Device - b.Device })
		if st, ok := state.Get[*model.NodeStatus](w.State, r.Node); ok {
			f.HostName, f.Addresses = st.HostName, map[string]netip.Addr{}
			maps.Copy(f.Addresses, st.Addresses)
		}
		if seen := w.Inventory.Node(r.Node); seen.Known() {
			f.State = seen.Replicas[r.UID]
			f.Resource, _ = seen.Resource(model.ResourceName(volume))
			f.Blind = blind(seen)
			f.Known = f.Blind == ""
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b formation.Replica) int { return a.ID - b.ID })
	return out
}

// lacks says what the node of a replica has not been able to do for a while that the replica
// needs. Its agent has said so; a node that is silent lacks nothing that is known.
func lacks(w World, r *model.Replica, storage model.PoolType) string {
	why := ""
	if st, ok := state.Get[*model.NodeStatus](w.State, r.Node); ok && st.Ready && !r.Deleting() {
		why = st.Capabilities.Lacks(storage)
	}
	if w.Held("lacks "+r.UID, why != "") < formation.MissingGrace || why == "" {
		return ""
	}
	return fmt.Sprintf("on node %s %s", r.Node, why)
}

// blind says what an agent could not read.
func blind(seen *inventory.Node) string {
	switch {
	case seen.StorageError != "":
		return "its agent cannot read LVM: " + seen.StorageError
	case seen.DRBDError != "":
		return "its agent cannot read DRBD: " + seen.DRBDError
	}
	return ""
}

// eligibleFor says whether a placed replica is where the pool allows it.
func eligibleFor(ps *model.PoolStatus, r *model.Replica) bool {
	for _, n := range ps.EligibleNodes {
		if n.Node != r.Node {
			continue
		}
		if r.Type != model.Diskful {
			return true
		}
		for _, l := range n.LVGs {
			if l.VG == r.VG && l.ThinPool == r.ThinPool {
				return true
			}
		}
	}
	return false
}

// formationOperation finds the volume's bootstrap operation, of this formation or an older one.
func formationOperation(v state.View, volume string) *model.Operation {
	for op := range state.Under[*model.Operation](v, volume+"-formation-") {
		if op.Volume == volume && op.Type == model.OperationCreateNewUUID {
			return op
		}
	}
	return nil
}

// judge keeps the conditions of a formed volume, and its sole, up to date.
func (c Volume) judge(w World, vol *model.Volume, vs *model.VolumeStatus) Outcome {
	next := model.Clone(vs)
	next.Conditions = next.Conditions.With(c.satisfies(w, vol, vs), w.Now)
	next.Pending = pending(w, vs)
	if recovered(w, vol, vs) {
		next.Recovered = nil
	}
	cause := "volume " + vol.Name + ": conditions"
	if why := soleOf(w, vol, vs, next); why != "" {
		cause = "volume " + vol.Name + ": " + why
	}
	return c.write(vs, next, cause)
}

// satisfies says whether every replica is on an eligible node.
func (Volume) satisfies(w World, vol *model.Volume, vs *model.VolumeStatus) model.Condition {
	c := model.Condition{Type: "SatisfyEligibleNodes", Status: model.True, Reason: "SatisfyEligibleNodes"}
	ps, ok := state.Get[*model.PoolStatus](w.State, vs.Configuration.Pool)
	if !ok {
		return c
	}
	var bad []string
	for r := range state.Under[*model.Replica](w.State, vol.Name+"/") {
		if r.Node != "" && !r.Deleting() && !eligibleFor(ps, r) {
			bad = append(bad, r.Name+" on "+r.Node)
		}
	}
	if len(bad) > 0 {
		c.Status, c.Reason = model.False, "InConflictWithEligibleNodes"
		c.Message = "not on an eligible node: " + strings.Join(bad, ", ")
		for _, t := range vs.Transitions {
			if t.Repair == string(repair.NotEligible) {
				c.Reason = "ConflictResolutionInProgress"
				c.Message += "; under way: " + t.Title
			}
		}
	}
	return c
}

// write proposes next when it differs from what stands.
func (c Volume) write(old, next *model.VolumeStatus, cause string) Outcome {
	if old.Revision != 0 {
		a, errA := model.Encode(old)
		b, errB := model.Encode(next)
		if errA == nil && errB == nil && string(a) == string(b) {
			return Outcome{}
		}
	}
	return Outcome{Txn: state.NewTxn(Actor(c), cause).Put(next)}
}
