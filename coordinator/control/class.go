package control

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"rvol/coordinator/decide/eligibility"
	"rvol/coordinator/decide/layout"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Class keeps each class's pool, its configuration in force and its volume statistics
// (seed 002), and releases pools that nothing uses any more.
type Class struct{}

// Name is the controller's name.
func (Class) Name() string { return "class" }

// Affected names the class itself, and those that use a changed pool or own a changed volume.
func (Class) Affected(changed model.Key, v state.View) []string {
	switch changed.Kind {
	case model.KindClass, model.KindClassStatus:
		return []string{changed.Name}
	case model.KindPool, model.KindPoolStatus:
		return names[*model.Class](v)
	case model.KindVolume, model.KindVolumeStatus:
		if vol, ok := state.Get[*model.Volume](v, changed.Name); ok {
			return []string{vol.Class}
		}
		return names[*model.Class](v)
	default:
	}
	return nil
}

// AffectedBy names none.
func (Class) AffectedBy(string, state.View) []string { return nil }

// All lists all classes.
func (Class) All(v state.View) []string { return names[*model.Class](v) }

// Decide does one thing at a time: pool, then configuration and statistics, then release.
func (c Class) Decide(w World, key string) (Outcome, error) {
	class, ok := state.Get[*model.Class](w.State, key)
	if !ok || class.Deleting() {
		return c.release(w, key, "", class)
	}
	poolName := class.Pool
	if class.Storage != nil {
		poolName = GeneratedPool(class)
		if out := c.ensurePool(w, class, poolName); out.Txn != nil {
			return out, nil
		}
	} else if out := c.use(w, class, poolName); out.Txn != nil {
		return out, nil
	}
	next, err := c.status(w, class, poolName)
	if err != nil {
		return Outcome{}, err
	}
	if next != nil {
		return Outcome{Txn: state.NewTxn(Actor(c), fmt.Sprintf("class %s: %s", key, summary(next))).Put(next)}, nil
	}
	return c.release(w, key, poolName, nil)
}

// GeneratedPool is the name of the pool made from a class's storage. Equal storage gives
// an equal name, so that such classes share the pool.
func GeneratedPool(c *model.Class) string {
	sorted := func(s []string) []string { s = slices.Clone(s); slices.Sort(s); return s }
	s := *c.Storage
	s.VGs = sorted(s.VGs)
	b, err := json.Marshal([]any{s, sorted(c.Zones), c.NodeSelector, sorted(c.SystemNetworks), c.NotReadyGrace})
	if err != nil {
		panic(err) // plain strings and numbers always encode
	}
	sum := sha256.Sum256(b)
	return "auto-" + hex.EncodeToString(sum[:8])
}

func (c Class) ensurePool(w World, class *model.Class, name string) Outcome {
	if _, ok := state.Get[*model.Pool](w.State, name); ok {
		return c.use(w, class, name)
	}
	p := &model.Pool{
		Storage: *class.Storage, Zones: class.Zones, NodeSelector: class.NodeSelector,
		SystemNetworks: class.SystemNetworks, NotReadyGrace: class.NotReadyGrace, Generated: true,
	}
	p.Name, p.UID, p.CreatedAt, p.Generation = name, w.Fresh(), w.Now, 1
	st := &model.PoolStatus{UsedBy: []string{class.Name}}
	st.Name = name
	b := state.NewTxn(Actor(c), fmt.Sprintf("class %s: make pool %s from its storage", class.Name, name))
	if old, ok := state.Get[*model.PoolStatus](w.State, name); ok {
		st.Revision = old.Revision
	}
	return Outcome{Txn: b.Put(p).Put(st)}
}

// use writes the class into the pool's list of users.
func (c Class) use(w World, class *model.Class, name string) Outcome {
	if _, ok := state.Get[*model.Pool](w.State, name); !ok {
		return Outcome{}
	}
	st := &model.PoolStatus{}
	st.Name = name
	if old, ok := state.Get[*model.PoolStatus](w.State, name); ok {
		st = model.Clone(old)
	}
	if slices.Contains(st.UsedBy, class.Name) {
		return Outcome{}
	}
	st.UsedBy = append(st.UsedBy, class.Name)
	slices.Sort(st.UsedBy)
	return Outcome{Txn: state.NewTxn(Actor(c), fmt.Sprintf("class %s uses pool %s", class.Name, name)).Put(st)}
}

// release takes the class out of every pool but keep that none of its volumes uses; a
// generated pool goes with its last user. A deleted class's status goes as well.
func (c Class) release(w World, key, keep string, deleted *model.Class) (Outcome, error) {
	used := map[string]bool{keep: true}
	for vol := range w.State.VolumesOfClass(key) {
		if vs, ok := state.Get[*model.VolumeStatus](w.State, vol.Name); ok && vs.Configuration != nil {
			used[vs.Configuration.Pool] = true
		}
	}
	b := state.NewTxn(Actor(c), fmt.Sprintf("class %s: release pools it does not use", key))
	for st := range state.All[*model.PoolStatus](w.State) {
		if slices.Contains(st.UsedBy, key) && !used[st.Name] {
			leave(w, st, key, b)
		}
	}
	if keep == "" && len(used) == 1 {
		if st, ok := state.Get[*model.ClassStatus](w.State, key); ok {
			b.Delete(st)
		}
		if deleted != nil {
			b.Delete(deleted)
		}
	}
	return Outcome{Txn: b}, nil
}

// leave takes one class out of a pool's users; a generated pool goes with its last.
func leave(w World, st *model.PoolStatus, class string, b *state.Build) {
	n := model.Clone(st)
	n.UsedBy = slices.DeleteFunc(n.UsedBy, func(s string) bool { return s == class })
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

// status works out the class's status; nil when it is what stands already.
func (c Class) status(w World, class *model.Class, poolName string) (*model.ClassStatus, error) {
	st := &model.ClassStatus{}
	st.Name = class.Name
	old, had := state.Get[*model.ClassStatus](w.State, class.Name)
	if had {
		st = model.Clone(old)
	}
	st.PoolName, st.PoolBasedOnGeneration = poolName, class.Generation
	pool, found := state.Get[*model.Pool](w.State, poolName)
	ps, _ := state.Get[*model.PoolStatus](w.State, poolName)
	ready := poolReady(ps, found)
	st.Conditions = st.Conditions.With(ready, w.Now)
	verdict, err := configure(class, pool, ps, st)
	if err != nil {
		return nil, err
	}
	st.Conditions = st.Conditions.With(verdict, w.Now)
	count(w, class, st)
	if had {
		a, errA := model.Encode(old)
		b, errB := model.Encode(st)
		if errA == nil && errB == nil && string(a) == string(b) {
			return nil, nil
		}
	}
	return st, nil
}

// poolReady copies the pool's Ready condition, or says why there is none.
func poolReady(ps *model.PoolStatus, found bool) model.Condition {
	c := model.Condition{Type: "StoragePoolReady", Status: model.False, Reason: "StoragePoolNotFound", Message: "the storage pool does not exist"}
	if !found {
		return c
	}
	c.Status, c.Reason, c.Message = model.Unknown, "Pending", "the storage pool has not been looked at yet"
	if ps != nil {
		if r, ok := ps.Conditions.Get("Ready"); ok {
			c.Status, c.Reason, c.Message = r.Status, r.Reason, r.Message
		}
	}
	return c
}

// configure validates the class against its eligible nodes and, when they can hold it,
// puts its configuration in force; else the previous one stays. It returns the Ready condition.
func configure(class *model.Class, pool *model.Pool, ps *model.PoolStatus, st *model.ClassStatus) (model.Condition, error) {
	ready := model.Condition{Type: "Ready", Status: model.False, ObservedGeneration: class.Generation}
	if c, _ := st.Conditions.Get("StoragePoolReady"); c.Status != model.True {
		ready.Reason, ready.Message = "WaitingForStoragePool", c.Message
		return ready, nil
	}
	l, err := ClassLayout(class, ps.EligibleNodes)
	if refused, ok := errors.AsType[*layout.RefusedError](err); ok {
		ready.Reason, ready.Message = "InvalidConfiguration", refused.Error()
		return ready, nil
	}
	t, err := layout.ParseTopology(string(class.Topology))
	if err != nil {
		return ready, err
	}
	var nodes []eligibility.ClassNode
	for _, n := range ps.EligibleNodes {
		nodes = append(nodes, eligibility.ClassNode{Name: n.Node, Zone: n.Zone, Disks: len(n.LVGs)})
	}
	if v := eligibility.Validate(t, l, nodes); !v.Valid {
		ready.Reason, ready.Message = v.Reason, v.Message
		return ready, nil
	}
	ready.Status, ready.Reason = model.True, "Ready"
	ready.Message = l.Short() + ": " + l.Explain(t).Copies
	st.EligibleNodesRevision = ps.EligibleNodesRevision
	if st.ConfigurationGeneration != class.Generation || st.Configuration == nil || st.Configuration.Pool != pool.Name {
		st.Configuration, st.ConfigurationGeneration = configuration(class, pool), class.Generation
	}
	return ready, nil
}

func configuration(c *model.Class, p *model.Pool) *model.Configuration {
	return &model.Configuration{
		FTT: c.FTT, GMDR: c.GMDR, Topology: c.Topology, VolumeAccess: c.VolumeAccess,
		Pool: p.Name, PoolType: p.Type, SystemNetworks: p.SystemNetworks,
		OnNoQuorum: c.OnNoQuorum, Wipe: c.Wipe, TrustZeroed: c.TrustZeroed, DRBD: c.DRBD,
	}
}

// ClassLayout is the layout of a class on the given nodes: where DRBD 8.4 is all they
// have, what 8.4 can do.
func ClassLayout(c *model.Class, nodes []model.EligibleNode) (layout.Layout, error) {
	if MajorOf(c.FTT, c.GMDR, nodes) == "8.4" {
		return layout.NewDRBD84(c.FTT, c.GMDR)
	}
	return layout.New(c.FTT, c.GMDR)
}

// MajorOf is the DRBD that a new volume of this layout gets: 9 where enough nodes have it,
// else 8.4. All replicas of a volume run one major.
func MajorOf(ftt, gmdr int, nodes []model.EligibleNode) string {
	with := map[string]int{}
	for _, n := range nodes {
		if len(n.LVGs) > 0 {
			with[n.DRBD]++
		}
	}
	if with["9"] >= layout.Formula(ftt, gmdr).Diskful || with["8.4"] == 0 {
		return "9"
	}
	return "8.4"
}

func summary(st *model.ClassStatus) string {
	c, _ := st.Conditions.Get("Ready")
	return c.Reason
}
