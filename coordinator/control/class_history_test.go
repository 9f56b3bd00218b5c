package control

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Random histories of classes, pools, volumes and nodes. After each act the controllers run
// until they have nothing more to say, and what must always hold is checked.
func TestHistoriesOfClassesAndPools(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{t: rt, c: &cluster{store: state.NewStore(state.Options{})}, named: map[string]bool{}, revisions: map[string]int64{}, sets: map[string][]model.EligibleNode{}}
		for _, n := range nodeNames {
			h.begin(n)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"make a class":           h.makeClass,
			"change a class":         h.changeClass,
			"delete a class":         h.deleteClass,
			"give a class its own":   h.migrate,
			"make a pool":            h.makePool,
			"delete a pool":          h.deletePool,
			"make a volume":          h.makeVolume,
			"delete a volume":        h.deleteVolume,
			"a volume sees a class":  h.see,
			"a node comes":           h.nodeComes,
			"a node goes":            h.nodeGoes,
			"a node becomes unready": h.nodeReadiness,
			"a group is offered":     h.offer,
			"time passes":            func(t *rapid.T) { h.now += time.Duration(rapid.IntRange(1, 8).Draw(t, "minutes")) * time.Minute },
			"":                       h.check,
		})
	})
}

// history is a store, the controllers over it, and what the operator did.
type history struct {
	t     *rapid.T
	c     *cluster
	now   time.Duration
	since map[string]time.Duration
	fresh int
	uids  int

	named     map[string]bool                 // pools that the operator made
	revisions map[string]int64                // of each pool, as last seen
	sets      map[string][]model.EligibleNode // of each pool, as last seen
}

var (
	classNames  = []string{"c1", "c2", "c3"}
	poolNames   = []string{"p1", "p2"}
	nodeNames   = []string{"n1", "n2", "n3"}
	volumeNames = []string{"v1", "v2", "v3", "v4"}
)

func pick[T any](t *rapid.T, what string, from []T) T { return rapid.SampledFrom(from).Draw(t, what) }

// begin gives the world a Ready node that offers vg0.
func (h *history) begin(name string) {
	n, st, l := &model.Node{}, &model.NodeStatus{Ready: true}, &model.LVG{Node: name, VG: "vg0", UUID: "uuid-vg0"}
	n.Name, st.Name, l.Name = name, name, model.LVGName(name, "vg0")
	st.Capabilities = model.Capabilities{DRBD: "9", LVM: "2.03"}
	st.Addresses = map[string]netip.Addr{"default": netip.MustParseAddr("10.0.0.1")}
	for _, o := range []model.Object{n, st, l} {
		h.put(o)
	}
}

func (h *history) view() state.View { return h.c.store.View() }

// propose applies a change and watches what it does to the revisions of pools.
func (h *history) propose(b *state.Build) error {
	txn, err := b.Txn()
	if err == nil {
		_, err = h.c.Propose(h.t.Context(), txn)
	}
	h.watchPools()
	return err
}

func (h *history) put(o model.Object) {
	if err := h.propose(state.NewTxn("test", "test").PutAnyway(o)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) remove(o model.Object) {
	if err := h.propose(state.NewTxn("test", "test").Delete(o)); err != nil {
		h.t.Fatal(err)
	}
}

// watchPools: the revision of a pool goes up by one exactly when its set changes.
func (h *history) watchPools() {
	v := h.view()
	for name := range h.revisions {
		if _, ok := state.Get[*model.PoolStatus](v, name); !ok {
			delete(h.revisions, name)
			delete(h.sets, name)
		}
	}
	for st := range state.All[*model.PoolStatus](v) {
		before, known := h.revisions[st.Name]
		want := before
		if !slices.EqualFunc(h.sets[st.Name], st.EligibleNodes, func(a, b model.EligibleNode) bool { return reflect.DeepEqual(a, b) }) {
			want++
		}
		if known && st.EligibleNodesRevision != want {
			h.t.Fatalf("pool %s: revision %d became %d, want %d\n%+v\n%+v", st.Name, before, st.EligibleNodesRevision, want, h.sets[st.Name], st.EligibleNodes)
		}
		if !slices.IsSortedFunc(st.EligibleNodes, func(a, b model.EligibleNode) int { return cmp.Compare(a.Node, b.Node) }) {
			h.t.Fatalf("pool %s: nodes are not sorted: %+v", st.Name, st.EligibleNodes)
		}
		h.revisions[st.Name], h.sets[st.Name] = st.EligibleNodesRevision, st.EligibleNodes
	}
}

func (h *history) world(key string) World {
	return World{
		State: h.view(), Inventory: inventory.New().View(), Now: time.Unix(1e9, 0).Add(h.now),
		Fresh: func() string { h.fresh++; return fmt.Sprint("fresh-", h.fresh) },
		Held: func(name string, holding bool) time.Duration {
			name = key + " " + name
			if !holding {
				delete(h.since, name)
				return 0
			}
			if h.since == nil {
				h.since = map[string]time.Duration{}
			}
			if _, ok := h.since[name]; !ok {
				h.since[name] = h.now
			}
			return h.now - h.since[name]
		},
	}
}

// settle runs the controllers until they ask for nothing more.
func (h *history) settle() {
	for range 50 {
		calm := true
		for _, c := range []Controller{Pool{}, Class{}, Rollout{}} {
			for _, key := range c.All(h.view()) {
				out, err := c.Decide(h.world(key), key)
				if err != nil {
					h.t.Fatalf("%s %s: %v", c.Name(), key, err)
				}
				if out.Txn == nil || out.Txn.Empty() {
					continue
				}
				calm = false
				if err := h.propose(out.Txn); err != nil && !errors.Is(err, model.ErrConflict) {
					h.t.Fatalf("%s %s: %v", c.Name(), key, err)
				}
			}
		}
		if calm {
			return
		}
	}
	h.t.Fatal("the controllers never agree")
}

func (h *history) check(*rapid.T) {
	h.settle()
	v := h.view()
	users := map[string][]string{}
	for c := range state.All[*model.Class](v) {
		wants := []string{PoolOf(c)}
		if cs, ok := state.Get[*model.ClassStatus](v, c.Name); ok && cs.Configuration != nil {
			wants = append(wants, cs.Configuration.Pool)
		}
		for _, vol := range ClassVolumes(v, c.Name) {
			wants = append(wants, vol.Status.Configuration.Pool)
		}
		slices.Sort(wants)
		for _, p := range slices.Compact(wants) {
			users[p] = append(users[p], c.Name)
		}
		h.checkClass(v, c)
	}
	for p := range state.All[*model.Pool](v) {
		if p.Generated && len(users[p.Name]) == 0 || !p.Generated && !h.named[p.Name] {
			h.t.Fatalf("pool %s is there, generated %v, used by %v", p.Name, p.Generated, users[p.Name])
		}
		st, _ := state.Get[*model.PoolStatus](v, p.Name)
		if !slices.Equal(st.UsedBy, users[p.Name]) {
			h.t.Fatalf("pool %s is used by %v, want %v", p.Name, st.UsedBy, users[p.Name])
		}
	}
	for p := range users {
		if _, ok := state.Get[*model.Pool](v, p); !ok && p[:1] != "p" {
			h.t.Fatalf("pool %s is gone, and used by %v", p, users[p])
		}
	}
	for p := range h.named {
		if _, ok := state.Get[*model.Pool](v, p); !ok {
			h.t.Fatalf("the operator's pool %s is gone", p)
		}
	}
	for st := range state.All[*model.ClassStatus](v) {
		if _, ok := state.Get[*model.Class](v, st.Name); !ok {
			h.t.Fatalf("class %s went, its status did not", st.Name)
		}
	}
}

// checkClass counts anew, in another way than the controller does.
func (h *history) checkClass(v state.View, c *model.Class) {
	cs, ok := state.Get[*model.ClassStatus](v, c.Name)
	if !ok {
		h.t.Fatalf("class %s has no status", c.Name)
	}
	var total, pending, aligned, stale int
	for vol := range state.All[*model.Volume](v) {
		if vol.Class != c.Name {
			continue
		}
		total++
		vs, _ := state.Get[*model.VolumeStatus](v, vol.Name)
		ready, _ := vs.Conditions.Get(storageclass.ConfigurationReady)
		places, _ := vs.Conditions.Get(storageclass.SatisfyEligibleNodes)
		switch {
		case vs.ConfigurationObserved > 0 && vs.ConfigurationObserved != cs.ConfigurationGeneration:
			pending++
		case ready.Status == model.False:
			stale++
		case ready.Status == model.True && places.Status == model.True:
			aligned++
		}
	}
	n := cs.Volumes
	hidden := n.Aligned == nil && n.StaleConfiguration == nil
	if n.Total != total || n.PendingObservation != pending || hidden != (pending > 0) {
		h.t.Fatalf("class %s: %+v, counted %d, %d pending", c.Name, n, total, pending)
	}
	if !hidden && (*n.Aligned != aligned || *n.StaleConfiguration != stale) {
		h.t.Fatalf("class %s: %d aligned, %d stale, counted %d, %d", c.Name, *n.Aligned, *n.StaleConfiguration, aligned, stale)
	}
	if r := cs.Conditions; r.Is(storageclass.Ready, model.True) && cs.ConfigurationGeneration != c.Generation {
		h.t.Fatalf("class %s is Ready at generation %d, in force is %d", c.Name, c.Generation, cs.ConfigurationGeneration)
	}
}

func (h *history) makeClass(t *rapid.T) {
	name := pick(t, "class", classNames)
	if _, ok := state.Get[*model.Class](h.view(), name); ok {
		t.Skip("it is there")
	}
	c := &model.Class{
		FTT: rapid.IntRange(0, 1).Draw(t, "ftt"), GMDR: rapid.IntRange(0, 1).Draw(t, "gmdr"), Topology: model.TopologyIgnored,
		NotReadyGrace: 5 * time.Minute, SystemNetworks: []string{"default"}, Rollout: model.RolloutRollingUpdate, RolloutMax: 1, OnNoQuorum: "suspend-io",
	}
	c.Name, c.Generation = name, 1
	if rapid.Bool().Draw(t, "named") {
		c.Pool = pick(t, "pool", poolNames)
		c.SystemNetworks, c.NotReadyGrace = nil, 0
		if !h.named[c.Pool] {
			t.Skip("no such pool")
		}
	} else {
		c.Storage = &model.Storage{Type: model.LVM, VGs: pick(t, "vgs", [][]string{{"vg0"}, {"vg0", "vg1"}, {"vg1", "vg0"}, {"vg1"}})}
	}
	h.put(c)
}

func (h *history) someClass(t *rapid.T) *model.Class {
	c, ok := state.Get[*model.Class](h.view(), pick(t, "class", classNames))
	if !ok || c.Deleting() {
		t.Skip("no such class")
	}
	return model.Clone(c)
}

func (h *history) changeClass(t *rapid.T) {
	c := h.someClass(t)
	c.Generation++
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		c.GMDR = rapid.IntRange(0, 2).Draw(t, "gmdr")
	case 1:
		c.OnNoQuorum = pick(t, "on no quorum", []string{"suspend-io", "io-error"})
	case 2:
		c.Wipe = pick(t, "wipe", []string{"none", "zero"})
	case 3:
		c.Rollout = pick(t, "rollout", []string{model.RolloutRollingUpdate, model.RolloutNewVolumesOnly})
	}
	h.put(c)
}

func (h *history) deleteClass(t *rapid.T) {
	c := h.someClass(t)
	if len(ClassVolumes(h.view(), c.Name)) > 0 {
		t.Skip("it has volumes")
	}
	c.DeletingSince = time.Unix(1e9, 0)
	h.put(c)
}

func (h *history) migrate(t *rapid.T) {
	c := h.someClass(t)
	p, ok := state.Get[*model.Pool](h.view(), c.Pool)
	if c.Pool == "" || !ok {
		t.Skip("nothing to take over")
	}
	c.Pool, c.Storage, c.SystemNetworks, c.NotReadyGrace = "", &p.Storage, p.SystemNetworks, p.NotReadyGrace
	c.Generation++
	h.put(c)
}

func (h *history) makePool(t *rapid.T) {
	name := pick(t, "pool", poolNames)
	if h.named[name] {
		t.Skip("it is there")
	}
	p := &model.Pool{Storage: model.Storage{Type: model.LVM, VGs: []string{"vg0"}}, SystemNetworks: []string{"default"}, NotReadyGrace: 5 * time.Minute}
	p.Name = name
	h.named[name] = true
	h.put(p)
}

func (h *history) deletePool(t *rapid.T) {
	name := pick(t, "pool", poolNames)
	st, ok := state.Get[*model.PoolStatus](h.view(), name)
	p, there := state.Get[*model.Pool](h.view(), name)
	if !ok || !there || len(st.UsedBy) > 0 {
		t.Skip("it is used, or not there")
	}
	delete(h.named, name)
	if err := h.propose(state.NewTxn("test", "test").Delete(p).Delete(st)); err != nil {
		t.Fatal(err)
	}
}

func (h *history) makeVolume(t *rapid.T) {
	name, c := pick(t, "volume", volumeNames), h.someClass(t)
	cs, ok := state.Get[*model.ClassStatus](h.view(), c.Name)
	if _, there := state.Get[*model.Volume](h.view(), name); there || !ok || cs.Configuration == nil {
		t.Skip("it cannot be made")
	}
	vol, vs := &model.Volume{Class: c.Name}, &model.VolumeStatus{Formed: true, Datamesh: model.Datamesh{Revision: 2}}
	h.uids++
	vol.Name, vs.Name, vol.UID = name, name, fmt.Sprint("uid-", h.uids)
	cfg := *cs.Configuration
	vs.Configuration, vs.ConfigurationGeneration, vs.ConfigurationObserved = &cfg, cs.ConfigurationGeneration, cs.ConfigurationGeneration
	if rapid.Bool().Draw(t, "satisfied") {
		vs.Conditions = vs.Conditions.With(model.Condition{Type: storageclass.SatisfyEligibleNodes, Status: model.True}, time.Unix(1e9, 0))
	}
	vs.Conditions = vs.Conditions.With(configurationReady(vol, vs, c, cs), time.Unix(1e9, 0))
	if err := h.propose(state.NewTxn("test", "test").PutAnyway(vol).PutAnyway(vs)); err != nil {
		t.Fatal(err)
	}
}

func (h *history) someVolume(t *rapid.T) (*model.Volume, *model.VolumeStatus) {
	name := pick(t, "volume", volumeNames)
	vol, ok := state.Get[*model.Volume](h.view(), name)
	if !ok {
		t.Skip("no such volume")
	}
	vs, _ := state.Get[*model.VolumeStatus](h.view(), name)
	return vol, vs
}

func (h *history) deleteVolume(t *rapid.T) {
	vol, vs := h.someVolume(t)
	if err := h.propose(state.NewTxn("test", "test").Delete(vol).Delete(vs)); err != nil {
		t.Fatal(err)
	}
}

func (h *history) see(t *rapid.T) {
	vol, vs := h.someVolume(t)
	h.put(seesClass(h.world(vol.Name), vol, vs))
}

func (h *history) nodeComes(t *rapid.T) {
	n := &model.Node{Zone: pick(t, "zone", []string{"", "z1"}), Unschedulable: rapid.Bool().Draw(t, "cordoned")}
	n.Name = pick(t, "node", nodeNames)
	h.put(n)
}

func (h *history) nodeGoes(t *rapid.T) {
	n, ok := state.Get[*model.Node](h.view(), pick(t, "node", nodeNames))
	if !ok {
		t.Skip("no such node")
	}
	h.remove(n)
}

func (h *history) nodeReadiness(t *rapid.T) {
	st := &model.NodeStatus{
		Ready: rapid.Bool().Draw(t, "ready"), Capabilities: model.Capabilities{DRBD: pick(t, "drbd", []string{"8.4", "9"}), LVM: "2.03"},
		Addresses: map[string]netip.Addr{"default": netip.MustParseAddr("10.0.0.1")},
	}
	st.Name = pick(t, "node", nodeNames)
	h.put(st)
}

func (h *history) offer(t *rapid.T) {
	node, vg := pick(t, "node", nodeNames), pick(t, "vg", []string{"vg0", "vg1"})
	l, ok := state.Get[*model.LVG](h.view(), model.LVGName(node, vg))
	if ok && rapid.Bool().Draw(t, "taken back") {
		h.remove(l)
		return
	}
	l = &model.LVG{Node: node, VG: vg, UUID: "uuid-" + vg, Unschedulable: rapid.Bool().Draw(t, "cordoned")}
	l.Name = model.LVGName(node, vg)
	h.put(l)
}
