package control

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rvol/coordinator/decide/transition"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/drbd"
)

// naive is the ledger as anybody would keep it on paper: what each pool may hold, and what
// each owner has in it.
type naive struct {
	limits   [nPools]int64
	closed   [nPools]bool // cordoned
	holdings map[string]map[int]int64
	sizes    map[string]int64 // of volumes, usable
	copies   map[string]int
}

const nPools = 4

func (n *naive) sum(pool int) (sum int64) {
	for _, h := range n.holdings {
		sum += h[pool]
	}
	return sum
}

func (n *naive) free(pool int) int64 {
	if n.closed[pool] {
		return -1
	}
	return n.limits[pool] - n.sum(pool)
}

// ledgerTest drives the real thing and the naive one with the same stream.
type ledgerTest struct {
	*ledgerWorld
	t      *rapid.T
	n      naive
	c      Scheduling
	next   int
	before [nPools]int64
	did    map[string]int
}

func (l *ledgerTest) volumes() []string { return slices.Sorted(maps.Keys(l.n.sizes)) }

func (l *ledgerTest) pool() int { return rapid.IntRange(0, nPools-1).Draw(l.t, "pool") }

func (l *ledgerTest) anyVolume() string {
	all := l.volumes()
	if len(all) == 0 {
		l.t.Skip("no volume")
	}
	return rapid.SampledFrom(all).Draw(l.t, "volume")
}

// place makes a volume and lets the scheduler decide: it must be placed exactly when
// enough pools have room, whole.
func (l *ledgerTest) place(t *rapid.T) {
	l.t = t
	name := fmt.Sprintf("v%d", l.next)
	l.next++
	size := int64(rapid.IntRange(1, 20).Draw(t, "size")) * 16 * mib
	copies := rapid.IntRange(1, 3).Draw(t, "copies")
	l.volume(name, size, copies)
	out, err := l.c.Decide(World{State: l.store.View(), Now: time.Now(), Fresh: l.fresh}, name)
	if err != nil {
		t.Fatal(err)
	}
	l.propose(out.Txn)
	out.done(nil)
	cost, fits := BackingBytes(size, "9", extent), 0
	for p := range nPools {
		if l.n.free(p) >= cost {
			fits++
		}
	}
	at := map[int]int64{}
	for r := range l.store.View().ReservationsOfVolume(name) {
		for p := range nPools {
			if r.Pool == poolID(p) {
				at[p] += r.Granted
			}
		}
	}
	if (fits >= copies) != (len(at) == copies) || len(at) != 0 && len(at) != copies {
		t.Fatalf("%d copies of %d bytes, %d pools have room: it lies in %v", copies, cost, fits, at)
	}
	if len(at) == 0 {
		l.did["not placed"]++
		l.remove(name)
		return
	}
	l.did["placed"]++
	l.n.holdings[name], l.n.sizes[name], l.n.copies[name] = at, size, copies
}

func (l *ledgerTest) fresh() string { l.next++; return fmt.Sprintf("uid%d", l.next) }

func (l *ledgerTest) release(t *rapid.T) {
	l.t = t
	name := l.anyVolume()
	l.remove(name)
	delete(l.n.holdings, name)
	delete(l.n.sizes, name)
}

func (l *ledgerTest) cordon(t *rapid.T) {
	l.t = t
	p := l.pool()
	l.n.closed[p] = !l.n.closed[p]
	v := l.store.View()
	lvg, _ := state.Get[*model.LVG](v, model.LVGName(poolID(p).Node, "vg0"))
	old, _ := state.Get[*model.PoolStatus](v, "p")
	g, ps := model.Clone(lvg), model.Clone(old)
	g.Unschedulable, ps.EligibleNodes[p].LVGs[0].Unschedulable = l.n.closed[p], l.n.closed[p]
	l.propose(state.NewTxn("test", "cordon").Put(g).Put(ps))
}

func (l *ledgerTest) capacity(t *rapid.T) {
	l.t = t
	p := l.pool()
	extents := int64(rapid.IntRange(0, 300).Draw(t, "extents"))
	l.put(capacityOf(p, extents))
	l.n.limits[p] = extents * extent
}

func (l *ledgerTest) imports(t *rapid.T) {
	l.t = t
	p := l.pool()
	r := &model.Reservation{OwnerKind: model.OwnerOrphan, Owner: "lv", Pool: poolID(p), VGName: "vg0", Imported: true, State: model.Bound}
	r.Name = fmt.Sprintf("imported%d", l.next)
	l.next++
	r.Observed = int64(rapid.IntRange(1, 50).Draw(t, "extents")) * extent
	r.LVUUID = r.Name
	l.propose(state.NewTxn("test", "import").Put(r))
	l.n.holdings[r.Name] = map[int]int64{p: r.Observed}
	l.before[p] += r.Observed // not growth
}

// resize grows a volume, to the end or given up: all copies or none.
func (l *ledgerTest) resize(t *rapid.T) {
	l.t = t
	name := l.anyVolume()
	size := l.n.sizes[name] + int64(rapid.IntRange(1, 20).Draw(t, "more"))*16*mib
	v := l.store.View()
	vol, _ := state.Get[*model.Volume](v, name)
	vs, _ := state.Get[*model.VolumeStatus](v, name)
	if !vs.Formed {
		formed := model.Clone(vs)
		formed.Formed = true
		l.propose(state.NewTxn("test", "form").Put(formed))
		v = l.store.View()
	}
	b := state.NewTxn("test", "resize")
	_, err := Resize(World{State: v, Inventory: inventory.NewView(), Now: time.Now()}, b, vol, []model.VolumeDevice{{Size: size}})
	if err == nil {
		var txn state.Txn
		if txn, err = b.Txn(); err == nil {
			_, err = l.Propose(l.tb.Context(), txn)
		}
	}
	cost, fits := BackingBytes(size, "9", extent), true
	for p, has := range l.n.holdings[name] {
		fits = fits && (cost <= has || l.n.free(p) >= cost-has)
		if l.n.closed[p] {
			fits = false
		}
	}
	if (err == nil) != fits || err != nil && !errors.Is(err, model.ErrNoSpace) {
		t.Fatalf("resize of %s to %d: %v; by the naive ledger it fits: %v", name, size, err, fits)
	}
	if err != nil {
		l.did["not resized"]++
		return
	}
	if rapid.Bool().Draw(t, "abort") {
		b := state.NewTxn("test", "abort")
		vol, _ := state.Get[*model.Volume](l.store.View(), name)
		if err := AbandonResize(l.store.View(), b, vol, "test", time.Now()); err != nil {
			t.Fatal(err)
		}
		l.propose(b)
		l.finish(name, l.n.sizes[name])
		l.did["resize given up"]++
		return
	}
	l.finish(name, size)
	l.did["resized"]++
	l.n.sizes[name] = size
	for p := range l.n.holdings[name] {
		l.n.holdings[name][p] = max(l.n.holdings[name][p], cost)
	}
}

// finish takes the transition to its end, with agents that do at once what they are told.
func (l *ledgerTest) finish(name string, size int64) {
	for range 10 {
		v := l.store.View()
		vol, _ := state.Get[*model.Volume](v, name)
		vs, _ := state.Get[*model.VolumeStatus](v, name)
		if len(vs.Transitions) == 0 {
			if vol.Devices[0].Size != size {
				l.t.Fatalf("%s has %d bytes, want %d", name, vol.Devices[0].Size, size)
			}
			return
		}
		in := TransitionInput(v, obedient(v, name), vol, vs, time.Now())
		out := transition.Next(in)
		if !out.Changed() {
			l.t.Fatalf("%s stays at %q", name, out.Wait)
		}
		b := state.NewTxn("test", "")
		carry(b, vol, out)
		l.propose(b)
	}
	l.t.Fatalf("the resize of %s has no end", name)
}

// obedient is what the agents of a volume's nodes say once they have done all they are ordered.
func obedient(v state.View, volume string) inventory.View {
	vs, _ := state.Get[*model.VolumeStatus](v, volume)
	var nodes []*inventory.Node
	replicas := slices.Collect(state.Under[*model.Replica](v, volume+"/"))
	var size int64
	for _, r := range replicas {
		size = max(size, transition.ResizeTo(vs, r.ID, 0))
	}
	for _, r := range replicas {
		n := &inventory.Node{Name: r.Node, Connected: true, Full: true, Accepted: inventory.Order{Index: v.Index()}}
		st := inventory.ReplicaState{UID: r.UID}
		for res := range v.ReservationsOf(model.OwnerReplica, r.Name) {
			b := inventory.Backing{Number: res.Device, LVSize: res.Granted}
			if transition.Growing(vs) {
				b.LVSize = max(res.Granted, res.Pending)
			}
			st.Backing = append(st.Backing, b)
		}
		n.Replicas = map[string]inventory.ReplicaState{r.UID: st}
		res := inventory.Resource{Name: model.ResourceName(volume), Devices: []inventory.Device{{Disk: drbd.UpToDate, Size: size}}}
		for _, p := range replicas {
			if p.ID != r.ID {
				res.Peers = append(res.Peers, inventory.Peer{
					NodeID: p.ID, Connection: drbd.Connected, Devices: []inventory.PeerDevice{{Replication: drbd.Established, Disk: drbd.UpToDate}},
				})
			}
		}
		n.Resources = []inventory.Resource{res}
		nodes = append(nodes, n)
	}
	return inventory.NewView(nodes...)
}

// check is I1 and I2.
func (l *ledgerTest) check(t *rapid.T) {
	v := l.store.View()
	for p := range nPools {
		got, want := v.Charged(poolID(p)), l.n.sum(p)
		if got != want {
			t.Fatalf("pool %d is charged %d, by the naive ledger %d", p, got, want)
		}
		if got > l.n.limits[p] && got > l.before[p] {
			t.Fatalf("I1: pool %d has grown from %d to %d, its limit is %d", p, l.before[p], got, l.n.limits[p])
		}
		l.before[p] = got
	}
	sums := map[string]int64{}
	for r := range state.All[*model.Reservation](v) {
		sums[r.Pool.String()] += r.Charge()
	}
	for p := range nPools {
		if sums[poolID(p).String()] != v.Charged(poolID(p)) {
			t.Fatalf("I2: the reservations of pool %d come to %d, it is charged %d", p, sums[poolID(p).String()], v.Charged(poolID(p)))
		}
	}
}

func TestTheLedgerAgreesWithANaiveModel(t *testing.T) {
	t.Parallel()
	did := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		l := &ledgerTest{ledgerWorld: newLedgerWorld(t, 100, 100, 100, 100), t: rt, c: NewScheduling(), did: did}
		l.n = naive{holdings: map[string]map[int]int64{}, sizes: map[string]int64{}, copies: map[string]int{}}
		for p := range nPools {
			l.n.limits[p] = 100 * extent
		}
		rt.Repeat(map[string]func(*rapid.T){
			"place": l.place, "place again": l.place, "release": l.release, "cordon": l.cordon,
			"capacity": l.capacity, "import": l.imports, "resize": l.resize, "": l.check,
		})
	})
	for _, what := range []string{"placed", "not placed", "resized", "not resized", "resize given up"} {
		if did[what] == 0 {
			t.Errorf("no volume was ever %s: this test shows nothing", what)
		}
	}
}
