package state_test

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// world is the state as a child would write it: a map, copied for every transaction and
// looked through from end to end.
type world map[model.Key]model.Object

func (w world) after(txn state.Txn, rev uint64) world {
	next := maps.Clone(w)
	for _, p := range txn.Put {
		o, err := model.Decode(p.Key.Kind, p.Value, rev)
		if err != nil {
			panic(err)
		}
		next[p.Key] = o
	}
	for _, k := range txn.Delete {
		delete(next, k)
	}
	return next
}

// refuses names the constraint that txn breaks, or "".
func (w world) refuses(txn state.Txn, next world) string {
	for k, rev := range txn.Expect {
		if o, ok := w[k]; ok != (rev > 0) || ok && o.Info().Revision != rev {
			return model.ConstraintExpect
		}
	}
	if !w.fits(next) {
		return model.ConstraintCapacity
	}
	switch {
	case !next.unique():
		return model.ConstraintUnique
	case !next.complete():
		return model.ConstraintReference
	default:
		return ""
	}
}

func (w world) charged(p model.PoolID) (sum int64) {
	for _, o := range w {
		if r, ok := o.(*model.Reservation); ok && r.Pool == p {
			sum += r.Charge()
		}
	}
	return sum
}

func (w world) fits(next world) bool {
	for _, p := range pools {
		before, after := w.charged(p), next.charged(p)
		for k, o := range next {
			r, ok := o.(*model.Reservation)
			if !ok || r.Pool != p {
				continue
			}
			claimed, old := max(r.Granted, r.Pending), int64(0)
			if was, ok := w[k].(*model.Reservation); ok && was.Pool == p {
				old = was.Charge()
			}
			if r.Imported && w[k] == nil {
				claimed = 0
			}
			before += max(0, r.Charge()-max(claimed, old)) // as if it had always been there
		}
		c, _ := next[model.Key{Kind: model.KindCapacity, Name: p.String()}].(*model.Capacity)
		if after > before && (c == nil || c.GrowthStopped != "" || after > c.Limit()) {
			return false
		}
	}
	return true
}

func (w world) unique() bool {
	seen := map[string]bool{}
	once := func(format string, args ...any) bool {
		key := fmt.Sprintf(format, args...)
		twice := seen[key]
		seen[key] = true
		return !twice
	}
	for _, o := range w {
		switch o := o.(type) {
		case *model.Replica:
			ok := once("%s on %s", o.Volume, o.Node) && once("port %d on %s", o.Port, o.Node)
			for _, d := range o.Devices {
				ok = ok && once("minor %d on %s", d.Minor, o.Node)
			}
			if !ok {
				return false
			}
		case *model.Reservation:
			if o.LVUUID != "" && !once("lv %s on %s", o.LVUUID, o.Pool.Node) {
				return false
			}
		}
	}
	return true
}

func (w world) complete() bool {
	for _, o := range w {
		r, ok := o.(*model.Replica)
		if !ok {
			continue
		}
		for _, d := range r.Devices {
			res, ok := w[model.Key{Kind: model.KindReservation, Name: d.Reservation}].(*model.Reservation)
			if d.Reservation != "" && (!ok || res.Owner != r.Name) {
				return false
			}
		}
	}
	return true
}

var pools = []model.PoolID{{Node: "n1", VG: "a"}, {Node: "n2", VG: "a"}, {Node: "n2", VG: "a", ThinLV: "t"}}

func drawObject(t *rapid.T) model.Object {
	number := func(name string, from, to int) int { return rapid.IntRange(from, to).Draw(t, name) }
	pool := rapid.SampledFrom(pools)
	owner := func() string {
		return model.ReplicaName(fmt.Sprintf("v%d", number("volume", 0, 1)), number("id", 0, 2))
	}
	switch number("kind", 0, 5) {
	case 0:
		p := pool.Draw(t, "pool")
		return &model.Capacity{
			Meta: named(p.String()), Pool: p, ExtentSize: 10, Extents: int64(number("extents", 0, 10)), Percent: number("percent", 1, 2) * 100,
			GrowthStopped: rapid.SampledFrom([]string{"", "", "", "full"}).Draw(t, "stopped"),
		}
	case 1, 2, 3:
		return &model.Reservation{
			Meta: named(fmt.Sprintf("r%d", number("uid", 0, 5))), OwnerKind: model.OwnerReplica, Owner: owner(), Pool: pool.Draw(t, "pool"),
			Granted: int64(number("granted", 0, 60)), Pending: int64(number("pending", 0, 60)), Observed: int64(number("observed", 0, 60)),
			Imported: rapid.Bool().Draw(t, "imported"), LVUUID: rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(t, "lv"),
		}
	default:
		name := owner()
		volume, id, _ := model.SplitReplicaName(name)
		r := replica(volume, id, rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node"))
		r.Port = 17000 + number("port", 0, 3)
		if number("devices", 0, 1) == 1 {
			uid := rapid.SampledFrom([]string{"", "r0", "r1", "r2"}).Draw(t, "reservation")
			r.Devices = []model.ReplicaDevice{{Minor: 10000 + number("minor", 0, 2), Reservation: uid}}
		}
		return r
	}
}

// drawTxn draws a transaction of up to four changes, expecting what is there, mostly.
func drawTxn(t *rapid.T, w world) state.Txn {
	b := state.NewTxn("test", "random")
	seen := map[model.Key]bool{}
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		o := drawObject(t)
		if seen[o.Key()] {
			continue
		}
		seen[o.Key()] = true
		rev := uint64(0)
		if old, ok := w[o.Key()]; ok {
			rev = old.Info().Revision
		}
		switch rapid.IntRange(0, 9).Draw(t, "how") {
		case 0:
			o.Info().Revision = rev + 1 // out of date
			b.Put(o)
		case 1, 2, 3:
			o.Info().Revision = rev
			b.Delete(o)
		case 4, 5:
			b.PutAnyway(o)
		default:
			o.Info().Revision = rev
			b.Put(o)
		}
	}
	txn, err := b.Txn()
	if err != nil {
		t.Fatal(err)
	}
	return txn
}

func TestStoreAgreesWithANaiveModel(t *testing.T) {
	reached := map[string]int{} // constraints, and "" for accepted
	rapid.Check(t, func(rt *rapid.T) {
		store, w := state.NewStore(state.Options{}), world{}
		for index := uint64(1); index <= 30; index++ {
			txn := drawTxn(rt, w)
			next := w.after(txn, index)
			want := w.refuses(txn, next)
			reached[want]++
			results, err := store.Apply(index, encode(t, start, txn))
			if err != nil {
				rt.Fatal(err)
			}
			got := ""
			if r := results[0].Refusal; r != nil {
				got = r.Constraint
			}
			if got != want {
				rt.Fatalf("entry %d: refused by %q, the model says %q: %v", index, got, want, results[0].Err())
			}
			if want == "" {
				w = next
			}
			compare(rt, store.View(), w)
		}
	})
	for _, c := range []string{"", model.ConstraintExpect, model.ConstraintCapacity, model.ConstraintUnique, model.ConstraintReference} {
		if reached[c] == 0 {
			t.Errorf("no random transaction ended as %q: this test shows nothing", c)
		}
	}
}

// compare proves that the view holds exactly w, and that its sums and indexes are those
// that looking through everything gives.
func compare(t *rapid.T, v state.View, w world) {
	if v.Count() != len(w) {
		t.Fatalf("%d objects, the model has %d", v.Count(), len(w))
	}
	onNode := map[string]int{}
	for k, o := range w {
		got, ok := v.Object(k)
		if !ok || string(model.Raw(got)) != string(model.Raw(o)) || got.Info().Revision != o.Info().Revision {
			t.Fatalf("%s is %v, the model has %v", k, got, o)
		}
		if r, ok := o.(*model.Replica); ok {
			onNode[r.Node]++
		}
	}
	for _, p := range pools {
		if got, want := v.Charged(p), w.charged(p); got != want {
			t.Fatalf("pool %s is charged %d, its reservations come to %d", p, got, want)
		}
	}
	for _, n := range []string{"n1", "n2"} {
		if got := len(names(v.ReplicasOn(n))); got != onNode[n] {
			t.Fatalf("%d replicas on %s, the model has %d", got, n, onNode[n])
		}
	}
}
