package control

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"rvol/coordinator/decide/verification"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Verification compares the copies of volumes: when their class says so, and when somebody does.
type Verification struct{}

// Name is the controller's name.
func (Verification) Name() string { return "verification" }

// Workers is one: who decides must see what else is being compared.
func (Verification) Workers() int { return 1 }

// Affected names the volumes that a changed record is about.
func (Verification) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindVolume, model.KindVolumeStatus:
		return []string{changed.Name}
	case model.KindReplica:
		volume, _, _ := strings.Cut(changed.Name, "/")
		return []string{volume}
	case model.KindOperation:
		return ownerVolume(changed, v)
	case model.KindClass:
		return namesOf(v.VolumesOfClass(changed.Name))
	case model.KindNode:
		return volumesOn(v, changed.Name)
	default:
	}
	return nil
}

// AffectedBy names the volumes with a replica on the node that are being compared: others
// are looked at when they are due.
func (Verification) AffectedBy(node string, v state.View) []string {
	return slices.DeleteFunc(volumesOn(v, node), func(volume string) bool {
		vs, ok := state.Get[*model.VolumeStatus](v, volume)
		return !ok || !vs.Verification.Active()
	})
}

// All lists all volumes.
func (Verification) All(v state.View) []string { return names[*model.Volume](v) }

// Decide takes what is under way on, or begins what is due.
func (c Verification) Decide(w World, key string) (Outcome, error) {
	vol, ok := state.Get[*model.Volume](w.State, key)
	vs, has := state.Get[*model.VolumeStatus](w.State, key)
	if !ok || !has || !vs.Formed {
		return Outcome{}, nil
	}
	if at, due := verification.Due(vol, vs, verifyEvery(w.State, vol), w.Now); !vs.Verification.Active() && (!due || w.Now.Before(at)) {
		return Outcome{Again: max(0, at.Sub(w.Now))}, nil // most of them, most of the time: nothing is gathered
	}
	got := verification.Next(VerificationInput(w, vol, vs))
	out := Outcome{Again: got.Again, Reason: got.Wait}
	if !got.Changed() {
		return out, nil
	}
	out.Txn = state.NewTxn(Actor(c), got.Cause).Expect(vol.Key(), vol.Revision).Expect(vs.Key(), vs.Revision)
	for _, o := range got.Put {
		if op, ok := o.(*model.Operation); ok {
			op.UID = strings.ToLower(w.Fresh())
		}
		out.Txn.Put(o)
	}
	for _, o := range got.Delete {
		out.Txn.Delete(o)
	}
	return out, nil
}

// VerificationInput gathers what a verification looks at.
func VerificationInput(w World, vol *model.Volume, vs *model.VolumeStatus) verification.Input {
	in := verification.Input{Volume: vol, Status: vs, Every: verifyEvery(w.State, vol), Busy: comparing(w.State, vol.Name), Now: w.Now}
	if op, ok := state.Get[*model.Operation](w.State, verification.OperationName(vol.Name)); ok {
		in.Operation = op
	}
	for _, m := range TransitionInput(w.State, w.Inventory, vol, vs, w.Now).Members {
		if part, ok := vs.Datamesh.Member(m.ID); ok && part.Type == model.Diskful && !m.Deleting() {
			in.Copies = append(in.Copies, verification.Copy{Replica: m.Replica, Known: m.Known && m.Up, Fenced: m.Fenced, Resource: m.Resource})
		}
	}
	slices.SortFunc(in.Copies, func(a, b verification.Copy) int { return cmp.Compare(a.ID, b.ID) })
	return in
}

// verifyEvery is how often the volume's class wants its copies compared; 0: not by itself.
func verifyEvery(v state.View, vol *model.Volume) time.Duration {
	class, ok := state.Get[*model.Class](v, vol.Class)
	if !ok {
		return 0
	}
	return class.VerifyEvery
}

// comparing is how many volumes but one are being compared, by node.
func comparing(v state.View, but string) map[string]int {
	out := map[string]int{}
	for vs := range state.All[*model.VolumeStatus](v) {
		if vs.Name == but || !vs.Verification.Active() {
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
