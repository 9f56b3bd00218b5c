package control

import (
	"fmt"

	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Class keeps each class's pool, its configuration in force and its volume statistics
// (seed 002), and releases pools that nothing uses any more.
type Class struct{}

// Name is the controller's name.
func (Class) Name() string { return "class" }

// WhileReconciling says that it only writes down what agents report, or what follows from it.
func (Class) WhileReconciling() {}

// Affected names the class itself, and those that use a changed pool or own a changed volume.
func (Class) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindClass, model.KindClassStatus:
		return []string{changed.Name}
	case model.KindPool, model.KindPoolStatus:
		return Class{}.All(v)
	case model.KindVolume, model.KindVolumeStatus:
		if vol, ok := state.Get[*model.Volume](v, changed.Name); ok {
			return []string{vol.Class}
		}
		return names[*model.Class](v)
	default:
	}
	return nil
}

// AffectedBy names none: only what is committed counts.
func (Class) AffectedBy(string, state.View) []string { return nil }

// All lists all classes, and what is left of classes that went.
func (Class) All(v state.View) []string {
	all := names[*model.Class](v)
	for st := range state.All[*model.ClassStatus](v) {
		if _, ok := state.Get[*model.Class](v, st.Name); !ok {
			all = append(all, st.Name)
		}
	}
	return all
}

// Decide does one thing at a time: pool, then configuration and statistics, then release.
func (c Class) Decide(w World, key string) (Outcome, error) {
	cl, ok := state.Get[*model.Class](w.State, key)
	volumes := ClassVolumes(w.State, key)
	if !ok || cl.Deleting() && len(volumes) == 0 {
		return c.end(w, key, cl), nil
	}
	poolName := PoolOf(cl)
	if out := c.ensurePool(w, cl, poolName); out.Txn != nil {
		return out, nil
	}
	in := classInput(w, cl, poolName, volumes)
	next := storageclass.Next(in)
	if in.Standing != nil && same(in.Standing, next) {
		return c.release(w, cl, poolName), nil
	}
	b := state.NewTxn(Actor(c), fmt.Sprintf("class %s: %s", key, summary(next))).Put(next)
	return Outcome{Txn: b.Expect(cl.Key(), cl.Revision)}, nil
}

// ClassVolumes are the volumes of a class with what was decided about them, by name.
func ClassVolumes(v state.View, name string) []storageclass.Volume {
	var out []storageclass.Volume
	for vol := range v.VolumesOfClass(name) {
		vs, _ := state.Get[*model.VolumeStatus](v, vol.Name)
		out = append(out, storageclass.Volume{Volume: vol, Status: vs})
	}
	return out
}

func classInput(w World, cl *model.Class, poolName string, volumes []storageclass.Volume) storageclass.Input {
	in := storageclass.Input{Class: cl, PoolName: poolName, Volumes: volumes, Now: w.Now}
	in.Pool, _ = state.Get[*model.Pool](w.State, poolName)
	in.PoolStatus, _ = state.Get[*model.PoolStatus](w.State, poolName)
	in.Standing, _ = state.Get[*model.ClassStatus](w.State, cl.Name)
	return in
}

// end takes away what is left of a class without volumes.
func (c Class) end(w World, key string, cl *model.Class) Outcome {
	b := state.NewTxn(Actor(c), fmt.Sprintf("class %s: release its pools, which go with their last user", key))
	for st := range state.All[*model.PoolStatus](w.State) {
		leave(w, st, key, b)
	}
	if st, ok := state.Get[*model.ClassStatus](w.State, key); ok {
		b.Delete(st)
	}
	if cl != nil {
		b.Delete(cl)
	}
	return Outcome{Txn: b}
}

// same says whether two objects are stored as the same bytes.
func same(a, b model.Object) bool {
	x, errX := model.Encode(a)
	y, errY := model.Encode(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func summary(st *model.ClassStatus) string {
	c, _ := st.Conditions.Get(storageclass.Ready)
	return fmt.Sprintf("%s, generation %d in force, %d volumes", c.Reason, st.ConfigurationGeneration, st.Volumes.Total)
}
