package state_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

func names[T model.Object](all iter.Seq[T]) []string {
	var names []string
	for o := range all {
		names = append(names, o.Info().Name)
	}
	return names
}

func TestViewFindsObjectsByWhatTheyAreAbout(t *testing.T) {
	l := newLog(t)
	l.must(put(t,
		node("n1"), &model.NodeStatus{Meta: named("n1")}, node("n2"),
		volume("db-1", "gold"), volume("db-10", "gold"), volume("web", "tin"),
		&model.VolumeStatus{Meta: named("db-1"), Configuration: &model.Configuration{Pool: "ssd"}},
		capacity(100),
		with(reservation("r2", 2), func(r *model.Reservation) { r.Owner = "db-1/1" }),
		with(reservation("r1", 1), func(r *model.Reservation) { r.LVUUID = "lv-a" }),
		with(reservation("h1", 3), func(r *model.Reservation) { r.OwnerKind, r.Owner = model.OwnerHold, "db-1/0" }),
		replica("db-1", 0, "n1", model.ReplicaDevice{Minor: 10000}), replica("db-1", 1, "n2"), replica("db-10", 2, "n1"),
		&model.Replica{Meta: named("web/0"), Volume: "web"},
		&model.Attachment{Meta: named("db-1/n1"), Volume: "db-1", Node: "n1"},
		&model.Operation{Meta: named("op-1"), Node: "n2"},
	))
	v := l.store.View()
	byPort, _ := v.ReplicaWithPort("n1", 17002)
	byMinor, _ := v.ReplicaWithMinor("n1", 10000)
	byNode, _ := v.ReplicaOn("n2", "db-1")
	byLV, _ := v.ReservationWithLV("n1", "uuid-1", "lv-a")
	_, nowhere := v.ReplicaWithPort("n2", 17002)
	got := map[string][]string{
		"nodes":            names(state.All[*model.Node](v)),
		"volumes":          names(state.All[*model.Volume](v)),
		"under db-1":       names(state.Under[*model.Replica](v, "db-1/")),
		"on n1":            names(v.ReplicasOn("n1")),
		"on n3":            names(v.ReplicasOn("n3")),
		"in vg0":           names(v.ReservationsIn(vg0)),
		"of db-1/0":        names(v.ReservationsOf(model.OwnerReplica, "db-1/0")),
		"of db-1":          names(v.ReservationsOfVolume("db-1")),
		"attached on n1":   names(v.AttachmentsOn("n1")),
		"operations of n2": names(v.OperationsOn("n2")),
		"class gold":       names(v.VolumesOfClass("gold")),
		"pool ssd":         names(v.VolumesInPool("ssd")),
		"port, minor, node, LV": {
			byPort.Name, byMinor.Name, byNode.Name, byLV.Name,
		},
	}
	want := map[string][]string{
		"nodes":                 {"n1", "n2"},
		"volumes":               {"db-1", "db-10", "web"},
		"under db-1":            {"db-1/0", "db-1/1"},
		"on n1":                 {"db-1/0", "db-10/2"},
		"on n3":                 nil,
		"in vg0":                {"h1", "r1", "r2"},
		"of db-1/0":             {"r1"},
		"of db-1":               {"r1", "r2"},
		"attached on n1":        {"db-1/n1"},
		"operations of n2":      {"op-1"},
		"class gold":            {"db-1", "db-10"},
		"pool ssd":              {"db-1"},
		"port, minor, node, LV": {"db-10/2", "db-1/0", "db-1/1", "r1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if nowhere {
		t.Error("a port of n1 was found on n2")
	}
	if got := v.Charged(vg0); got != 6*gib {
		t.Errorf("charged %d bytes, want %d", got, 6*gib)
	}
}

func TestIndexesForgetWhatChanges(t *testing.T) {
	l := newLog(t)
	l.must(put(t, replica("db-1", 0, "n1", model.ReplicaDevice{Minor: 10000}), volume("db-1", "gold")))
	l.must(put(t, replica("db-1", 0, "n2"), volume("db-1", "tin")))
	v := l.store.View()
	_, port := v.ReplicaWithPort("n1", 17000)
	_, minor := v.ReplicaWithMinor("n1", 10000)
	got := []any{names(v.ReplicasOn("n1")), names(v.VolumesOfClass("gold")), port, minor}
	if diff := cmp.Diff([]any{[]string(nil), []string(nil), false, false}, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestViewNeverChanges(t *testing.T) {
	l := newLog(t)
	l.must(put(t, node("a")))
	old := l.store.View()
	hash := old.Hash()
	l.must(put(t, with(node("a"), func(n *model.Node) { n.Zone = "1" }), node("b")))
	a, _ := state.Get[*model.Node](old, "a")
	if a.Zone != "" || old.Count() != 1 || old.Index() != 1 || old.Hash() != hash {
		t.Errorf("the view at index 1 shows zone %q, %d objects, index %d", a.Zone, old.Count(), old.Index())
	}
	b, ok := state.Get[*model.Node](l.store.View(), "b")
	if !ok || b.Revision != 2 {
		t.Errorf("the view at index 2 shows b: %v", b)
	}
}

func TestUnknownFieldsAreKeptAndHashed(t *testing.T) {
	newer := func(text string) state.Txn {
		return state.Txn{Put: []state.Put{{
			Key:   node("a").Key(),
			Value: []byte(`{"name":"a","rack":"` + text + `","fenced":{"by":"x","at":"2026-01-01T00:00:00Z","epoch":1,"why":"smoke"}}`),
		}}}
	}
	l, other := newLog(t), newLog(t)
	l.must(newer("7"))
	other.must(newer("8"))
	if l.store.Hash() == other.store.Hash() {
		t.Error("a field that this binary does not know is not hashed")
	}
	a, _ := state.Get[*model.Node](l.store.View(), "a")
	l.must(put(t, with(a, func(n *model.Node) { n.Zone = "1" })))
	a, _ = state.Get[*model.Node](l.store.View(), "a")
	want := `{"fenced":{"at":"2026-01-01T00:00:00Z","by":"x","epoch":1,"why":"smoke"},"name":"a","rack":"7","zone":"1"}`
	if diff := cmp.Diff(want, string(model.Raw(a))); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestViewsTellWhichPoolsMovedAndWhoWaits(t *testing.T) {
	l := newLog(t)
	capacity := func(node string, extents int64) *model.Capacity {
		p := model.PoolID{Node: node, VG: "uuid-1"}
		return &model.Capacity{Meta: named(p.String()), Pool: p, VGName: "vg0", ExtentSize: 4 << 20, Extents: extents, Percent: 100}
	}
	l.must(put(t, capacity("n1", 1000), capacity("n2", 1000)))
	at := l.store.Index()
	l.must(put(t, capacity("n2", 2000)))
	if got := slices.Collect(l.store.View().PoolsMoved(at)); !slices.Equal(got, []string{"n2/uuid-1"}) {
		t.Errorf("after entry %d moved: %v", at, got)
	}
	l.must(put(t, reservation("r1", 1)))
	if got := slices.Collect(l.store.View().PoolsMoved(at)); !slices.Equal(got, []string{"n2/uuid-1", "n1/uuid-1"}) {
		t.Errorf("after entry %d moved: %v, want each once, in the order of its last change", at, got)
	}
	waits := func(volume string, since uint64) *model.Replica {
		r := replica(volume, 0, "")
		r.WaitingSince = since
		return r
	}
	l.must(put(t, waits("late", 1000), waits("untried", 0), waits("early", 20)))
	l.must(put(t, node("n1"), replica("placed", 0, "n1")))
	var waiting, all []string
	for r := range l.store.View().Waiting() {
		waiting = append(waiting, r.Volume)
	}
	for r := range l.store.View().Unscheduled() {
		all = append(all, r.Volume)
	}
	if !slices.Equal(waiting, []string{"early", "late"}) || len(all) < 3 || all[len(all)-1] != "late" {
		t.Errorf("waiting: %v, of %v", waiting, all)
	}
}
