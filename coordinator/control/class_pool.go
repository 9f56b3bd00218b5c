package control

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// GeneratedPrefix begins the names of pools that are made from classes.
const GeneratedPrefix = "auto-"

// PoolOf is the name of the pool that a class asks for.
func PoolOf(c *model.Class) string {
	if c.Storage == nil {
		return c.Pool
	}
	return generatedPool(c)
}

// generatedPool is the name of the pool made from a class's storage. Equal storage gives
// an equal name, so that such classes share the pool.
func generatedPool(c *model.Class) string {
	sorted := func(s []string) []string { s = slices.Clone(s); slices.Sort(s); return s }
	s := *c.Storage
	s.VGs = sorted(s.VGs)
	b, err := json.Marshal([]any{s, sorted(c.Zones), c.NodeSelector, sorted(c.SystemNetworks), c.NotReadyGrace})
	if err != nil {
		panic(err) // plain strings and numbers always encode
	}
	sum := sha256.Sum256(b)
	return GeneratedPrefix + hex.EncodeToString(sum[:8])
}

// ensurePool makes the pool of a class that has storage of its own, and writes the class
// into the pool's list of users.
func (c Class) ensurePool(w World, cl *model.Class, name string) Outcome {
	p, exists := state.Get[*model.Pool](w.State, name)
	if !exists && cl.Storage == nil {
		return Outcome{}
	}
	st := &model.PoolStatus{}
	st.Name = name
	if old, ok := state.Get[*model.PoolStatus](w.State, name); ok {
		st = model.Clone(old)
	}
	if exists && slices.Contains(st.UsedBy, cl.Name) {
		return Outcome{}
	}
	b := state.NewTxn(Actor(c), fmt.Sprintf("class %s uses pool %s", cl.Name, name)).Expect(cl.Key(), cl.Revision)
	if exists {
		b.Expect(p.Key(), p.Revision)
	} else {
		p = &model.Pool{
			Storage: *cl.Storage, Zones: cl.Zones, NodeSelector: cl.NodeSelector,
			SystemNetworks: cl.SystemNetworks, NotReadyGrace: cl.NotReadyGrace, Generated: true,
		}
		p.Name, p.UID, p.CreatedAt, p.Generation = name, w.Fresh(), w.Now, 1
		b.Because(fmt.Sprintf("class %s: make pool %s from its storage", cl.Name, name)).Put(p)
	}
	if !slices.Contains(st.UsedBy, cl.Name) {
		st.UsedBy = append(slices.Clone(st.UsedBy), cl.Name)
		slices.Sort(st.UsedBy)
	}
	return Outcome{Txn: b.Put(st)}
}

// release takes the class out of every pool but keep that none of its volumes uses.
func (c Class) release(w World, cl *model.Class, keep string) Outcome {
	used := map[string]bool{keep: true}
	for vol := range w.State.VolumesOfClass(cl.Name) {
		if vs, ok := state.Get[*model.VolumeStatus](w.State, vol.Name); ok && vs.Configuration != nil {
			used[vs.Configuration.Pool] = true
		}
	}
	if cs, ok := state.Get[*model.ClassStatus](w.State, cl.Name); ok && cs.Configuration != nil {
		used[cs.Configuration.Pool] = true // in force until the next one can be
	}
	b := state.NewTxn(Actor(c), fmt.Sprintf("class %s: release pools it does not use", cl.Name)).Expect(cl.Key(), cl.Revision)
	for st := range state.All[*model.PoolStatus](w.State) {
		if !used[st.Name] {
			leave(w, st, cl.Name, b)
		}
	}
	return Outcome{Txn: b}
}

// leave takes one class out of a pool's users; a generated pool goes with its last.
func leave(w World, st *model.PoolStatus, name string, b *state.Build) {
	if !slices.Contains(st.UsedBy, name) {
		return
	}
	n := model.Clone(st)
	n.UsedBy = slices.DeleteFunc(n.UsedBy, func(s string) bool { return s == name })
	p, ok := state.Get[*model.Pool](w.State, st.Name)
	if len(n.UsedBy) > 0 || ok && !p.Generated {
		b.Put(n)
		return
	}
	b.Delete(st)
	if ok {
		b.Delete(p)
	}
}
