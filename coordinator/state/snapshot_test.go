package state_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

func snapshotOf(tb testing.TB, s *state.Store) []byte {
	tb.Helper()
	var b bytes.Buffer
	n, err := s.View().WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		tb.Fatalf("wrote %d bytes of %d: %v", n, b.Len(), err)
	}
	return b.Bytes()
}

// busy is a log in which there is something of everything.
func busy(tb testing.TB) *log {
	tb.Helper()
	l := newLog(tb)
	l.must(put(tb, &model.Cluster{Meta: named("cluster"), Format: 1}, node("n1"), node("n2")))
	l.must(put(tb, capacity(10), volume("db-1", "gold"), reservation("r1", 2)))
	request, _ := state.NewTxn("admin/test", "place").Request("q1").Put(replica("db-1", 0, "n1", model.ReplicaDevice{Minor: 10000, Reservation: "r1"})).Txn()
	l.must(request)
	refused := put(tb, reservation("r2", 9))
	refused.RequestID = "q2"
	l.apply(refused)
	l.must(remove(node("n2")))
	return l
}

func TestSnapshotRestoresTheSameState(t *testing.T) {
	l := busy(t)
	data := snapshotOf(t, l.store)
	restored := state.NewStore(state.Options{})
	if _, err := restored.Apply(99, encode(t, start, put(t, node("stray")))); err != nil {
		t.Fatal(err)
	}
	if err := restored.Restore(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	a, b := l.store.View(), restored.View()
	if a.Hash() != b.Hash() {
		t.Error("the hash differs")
	}
	if diff := cmp.Diff(contents(a), contents(b)); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
	if a.NodeRevision("n2") != 5 || b.NodeRevision("n2") != 5 || b.NodeRevision("unheard-of") != 1 {
		t.Errorf("node revisions: %d, %d, %d", a.NodeRevision("n2"), b.NodeRevision("n2"), b.NodeRevision("unheard-of"))
	}
	l.store, l.index = restored, 5
	first, _ := a.Request("q2")
	again := put(t, reservation("r2", 9))
	again.RequestID = "q2"
	if diff := cmp.Diff(first, l.apply(again)[0]); diff != "" {
		t.Errorf("a request that was repeated after the restore (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(data, snapshotOf(t, busy(t).store)); diff != "" {
		t.Error("the same log gave other bytes")
	}
}

func TestRestoreTellsWatchersThatEverythingMayHaveChanged(t *testing.T) {
	data := snapshotOf(t, busy(t).store)
	s := state.NewStore(state.Options{})
	told := make(chan []model.Key, 1)
	defer s.Watch(func(_ uint64, keys []model.Key) { told <- keys })()
	if err := s.Restore(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	if keys := <-told; keys != nil {
		t.Errorf("told of %v, want nil", keys)
	}
}

func TestASnapshotThatIsNotWholeIsRefused(t *testing.T) {
	l := busy(t)
	data := snapshotOf(t, l.store)
	for n := range data {
		refuses(t, fmt.Sprintf("cut after %d bytes", n), data[:n])
	}
	for n := range data {
		for bit := range 8 {
			flipped := bytes.Clone(data)
			flipped[n] ^= 1 << bit
			refuses(t, fmt.Sprintf("bit %d of byte %d flipped", bit, n), flipped)
		}
	}
	refuses(t, "with more behind its end", append(bytes.Clone(data), 0))
}

func refuses(t *testing.T, what string, data []byte) {
	t.Helper()
	s := state.NewStore(state.Options{})
	before := s.Hash()
	if err := s.Restore(bytes.NewReader(data)); err == nil {
		t.Fatalf("a snapshot %s was restored", what)
	}
	if s.Hash() != before {
		t.Fatalf("a snapshot %s was refused and yet changed the state", what)
	}
}

func TestASnapshotOfAFormatThatIsNotServedIsRefused(t *testing.T) {
	newer := state.NewStore(state.Options{Formats: [2]int{1, 3}})
	if _, err := newer.Apply(1, encode(t, start, put(t, &model.Cluster{Meta: named("cluster"), Format: 3}))); err != nil {
		t.Fatal(err)
	}
	data := snapshotOf(t, newer)
	err := state.NewStore(state.Options{}).Restore(bytes.NewReader(data))
	want := "read snapshot: state format 3 is in force, this binary serves 1 to 2: install the version that the other coordinators run"
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestInspectSnapshot(t *testing.T) {
	l := busy(t)
	head, err := state.InspectSnapshot(bytes.NewReader(snapshotOf(t, l.store)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.store.View().SnapshotHead(), head); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
}

// TestReplayIsTheSameFromAnySnapshot replays random logs from the beginning, and from a
// snapshot somewhere on the way.
func TestReplayIsTheSameFromAnySnapshot(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l, w := newLog(t), world{}
		for range rapid.IntRange(1, 20).Draw(rt, "entries") {
			txn := drawTxn(rt, w)
			if rapid.Bool().Draw(rt, "from a door") {
				txn.RequestID = rapid.StringMatching("q[0-9]").Draw(rt, "request")
			}
			if r := l.apply(txn)[0]; r.Err() == nil && r.Revision == l.index {
				w = w.after(txn, l.index)
			}
		}
		at := rapid.IntRange(0, len(l.entries)).Draw(rt, "snapshot at")
		first, second := state.NewStore(state.Options{}), state.NewStore(state.Options{})
		for i, e := range l.entries {
			if i == at {
				if err := second.Restore(bytes.NewReader(snapshotOf(t, first))); err != nil {
					rt.Fatal(err)
				}
			}
			for _, s := range []*state.Store{first, second} {
				if s == second && i < at {
					continue
				}
				if _, err := s.Apply(e.index, e.data); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if first.Hash() != l.store.Hash() {
			rt.Fatal("a replay gave another state")
		}
		if at < len(l.entries) && second.Hash() != first.Hash() {
			rt.Fatalf("a replay from the snapshot at %d gave another state", at)
		}
	})
}

// TestTwoVersionsReplayOneLogToTheSameState stands for a rolling upgrade: the older
// binary does not know format 2, nor the fields that the newer one writes.
func TestTwoVersionsReplayOneLogToTheSameState(t *testing.T) {
	older := state.NewStore(state.Options{Formats: [2]int{1, 1}})
	newer := state.NewStore(state.Options{Formats: [2]int{1, 2}})
	member := func(id string, highest int) *model.Member {
		return &model.Member{Meta: named(id), Formats: [2]int{1, highest}}
	}
	cluster := func(format int) *model.Cluster { return &model.Cluster{Meta: named("cluster"), Format: format} }
	unknown := state.Txn{Put: []state.Put{{Key: node("n1").Key(), Value: []byte(`{"name":"n1","shelf":{"row":3},"zone":"1"}`)}}}
	entries := [][]state.Txn{
		{put(t, cluster(1), member("c1", 1), member("c2", 2))},
		{unknown, put(t, capacity(5), reservation("r1", 2))},
		{put(t, cluster(2))}, // refused: c1 does not serve it
		{put(t, reservation("r2", 9))},
		{put(t, quota("q", "", 0, 1)), put(t, volume("db-1", "r2"))}, // there are no quotas yet, for either
	}
	for i, e := range entries {
		data := encode(t, start, e...)
		for _, s := range []*state.Store{older, newer} {
			if _, err := s.Apply(uint64(i+1), data); err != nil {
				t.Fatal(err)
			}
		}
		if older.Hash() != newer.Hash() {
			t.Fatalf("after entry %d the two versions remember different things", i+1)
		}
	}
	raise := encode(t, start, put(t, member("c1", 2), cluster(2)), put(t, cluster(1)))
	results, err := newer.Apply(6, raise)
	if err != nil || results[0].Err() != nil {
		t.Fatalf("raise the format: %v, %v", err, results)
	}
	want := &model.Refusal{Constraint: "format", Object: "cluster/cluster", Asked: 1, Available: 2, Reason: "the state's format is 2 and never goes back"}
	if diff := cmp.Diff(want, results[1].Refusal); diff != "" {
		t.Errorf("lower the format (-want +got):\n%s", diff)
	}
	if _, err := older.Apply(6, raise); err == nil {
		t.Error("the older version follows a format that it does not know")
	}
}
