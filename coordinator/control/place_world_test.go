package control

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/coordinator/state/statetest"
)

const (
	mib    = 1 << 20
	extent = 4 * mib
)

// ledgerWorld is a state with nodes n0, n1, ... in zones of their own, each with a volume
// group vg0, all in the storage pool "p": what placement and allocation need, and no agents.
type ledgerWorld struct {
	tb    testing.TB
	store *state.Store

	mu sync.Mutex

	// refuse is asked before each transaction; an error is its answer.
	refuse func(state.Txn) error
	// applied is told after each entry, with the lock held.
	applied func(v state.View, t state.Txn, accepted bool)
}

// Propose applies one transaction as an entry of its own.
func (l *ledgerWorld) Propose(_ context.Context, t state.Txn) (uint64, error) {
	if l.refuse != nil {
		if err := l.refuse(t); err != nil {
			return 0, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	revision, err := statetest.Apply(l.store, time.Now(), t)
	if l.applied != nil {
		l.applied(l.store.View(), t, err == nil)
	}
	return revision, err
}

func newLedgerWorld(tb testing.TB, extents ...int64) *ledgerWorld {
	tb.Helper()
	l := &ledgerWorld{tb: tb, store: state.NewStore(state.Options{})}
	ps := &model.PoolStatus{EligibleNodesRevision: 1}
	ps.Name = "p"
	var objs []model.Object
	for i, size := range extents {
		objs = append(objs, nodeObjects(i, size)...)
		name := fmt.Sprintf("n%d", i)
		ps.EligibleNodes = append(ps.EligibleNodes, model.EligibleNode{
			Node: name, Zone: name, NodeReady: true, AgentReady: true, DRBD: "9",
			LVGs: []model.EligibleLVG{{VG: "vg0", Pool: poolID(i), Ready: true}},
		})
	}
	l.put(append(objs, ps)...)
	return l
}

func poolID(i int) model.PoolID {
	return model.PoolID{Node: fmt.Sprintf("n%d", i), VG: fmt.Sprintf("uuid-%d", i)}
}

func nodeObjects(i int, extents int64) []model.Object {
	name := fmt.Sprintf("n%d", i)
	node := &model.Node{}
	node.Name = name
	lvg := &model.LVG{Node: name, VG: "vg0", UUID: poolID(i).VG, OverProvisioningPercent: 200}
	lvg.Name = model.LVGName(name, "vg0")
	return []model.Object{node, lvg, capacityOf(i, extents)}
}

func capacityOf(i int, extents int64) *model.Capacity {
	c := &model.Capacity{Pool: poolID(i), VGName: "vg0", ExtentSize: extent, Extents: extents, Percent: 100}
	c.Name = c.Pool.String()
	return c
}

// put stores objects whatever was there.
func (l *ledgerWorld) put(objs ...model.Object) {
	l.tb.Helper()
	statetest.Put(l.tb, l, objs...)
}

func (l *ledgerWorld) propose(b *state.Build) {
	l.tb.Helper()
	statetest.Propose(l.tb, l, b)
}

// volumeObjects are a volume that waits for a place, with so many Diskful replicas.
func volumeObjects(name string, size int64, copies int) []model.Object {
	vol := &model.Volume{Class: "c", Devices: []model.VolumeDevice{{Size: size}}, MaxAttachments: 1}
	vol.Name, vol.UID = name, "uid-"+name
	vs := &model.VolumeStatus{DRBD: "9", Configuration: &model.Configuration{
		FTT: copies - 1, Topology: model.TopologyIgnored, VolumeAccess: model.AccessPreferablyLocal, Pool: "p", PoolType: model.LVM,
	}}
	vs.Name = name
	objs := []model.Object{vol, vs}
	for id := range copies {
		r := &model.Replica{Volume: name, ID: id, Type: model.Diskful}
		r.Name, r.UID = model.ReplicaName(name, id), fmt.Sprintf("uid-%s-%d", name, id)
		objs = append(objs, r)
	}
	return objs
}

func (l *ledgerWorld) volume(name string, size int64, copies int) {
	l.tb.Helper()
	l.put(volumeObjects(name, size, copies)...)
}

// remove takes a volume away at once, with all that it has.
func (l *ledgerWorld) remove(name string) {
	l.tb.Helper()
	v := l.store.View()
	b := state.NewTxn("test", "remove "+name)
	for r := range v.ReservationsOfVolume(name) {
		b.Delete(r)
	}
	for r := range state.Under[*model.Replica](v, name+"/") {
		b.Delete(r)
	}
	vol, _ := state.Get[*model.Volume](v, name)
	vs, _ := state.Get[*model.VolumeStatus](v, name)
	l.propose(b.Delete(vol).Delete(vs))
}

// run lets controllers work until the context of the test ends.
func (l *ledgerWorld) run(ctx context.Context, controllers ...Controller) {
	inv := inventory.New()
	Run(ctx, Sources{Store: l.store, Inventory: inv, Proposer: l, Log: slog.New(slog.DiscardHandler)}, controllers...)
}

// placed lists the volumes whose replicas all have their places, and fails the test when
// one has only some.
func (l *ledgerWorld) placed() []string {
	l.tb.Helper()
	v := l.store.View()
	var out []string
	for vol := range state.All[*model.Volume](v) {
		with, without := 0, 0
		for r := range state.Under[*model.Replica](v, vol.Name+"/") {
			if r.Node != "" && r.Conditions.Is("Scheduled", model.True) {
				with++
			} else {
				without++
			}
		}
		if with > 0 && without > 0 {
			l.tb.Errorf("volume %s is half placed: %d replicas with a place, %d without", vol.Name, with, without)
		}
		if without == 0 {
			out = append(out, vol.Name)
		}
	}
	return out
}

// checkLedger proves I1 and I2 on a state whose pools were never made smaller: no pool over
// its limit, charges equal to the sums, numbers unique.
func checkLedger(tb testing.TB, v state.View) {
	tb.Helper()
	sums := map[string]int64{}
	for r := range state.All[*model.Reservation](v) {
		sums[r.Pool.String()] += r.Charge()
	}
	for c := range state.All[*model.Capacity](v) {
		if got := v.Charged(c.Pool); got != sums[c.Name] {
			tb.Errorf("I2: pool %s is charged %d, its reservations come to %d", c.Name, got, sums[c.Name])
		}
		if sums[c.Name] > c.Limit() {
			tb.Errorf("I1: pool %s holds %d of %d bytes", c.Name, sums[c.Name], c.Limit())
		}
	}
	numbers := map[string]string{}
	for r := range state.All[*model.Replica](v) {
		if r.Node == "" {
			continue
		}
		taken := []string{fmt.Sprintf("%s port %d", r.Node, r.Port)}
		for _, d := range r.Devices {
			taken = append(taken, fmt.Sprintf("%s minor %d", r.Node, d.Minor))
		}
		for _, n := range taken {
			if other, twice := numbers[n]; twice {
				tb.Errorf("I2: %s belongs to %s and to %s", n, other, r.Name)
			}
			numbers[n] = r.Name
		}
	}
}

func scheduled(v state.View, volume string) (model.Condition, bool) {
	for r := range state.Under[*model.Replica](v, volume+"/") {
		if c, ok := r.Conditions.Get("Scheduled"); ok {
			return c, true
		}
	}
	return model.Condition{}, false
}

func says(c model.Condition, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(c.Message, w) {
			return false
		}
	}
	return true
}
