package state_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

func TestApplyStopsWhereItCannotFollow(t *testing.T) {
	good := encode(t, start, put(t, node("a")))
	newer := append([]byte{9}, good[1:]...)
	txn, err := state.EncodeTxn(put(t, node("a")))
	if err != nil {
		t.Fatal(err)
	}
	const damaged = "apply entry 3: decode entry: it makes no sense: it is damaged"
	raise := put(t, &model.Cluster{Meta: named("cluster"), Format: 3})
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "apply entry 3: decode entry: it is empty"},
		{"a newer version", newer, "apply entry 3: decode entry: version 9, this binary knows 2: another version wrote it"},
		{"garbage", []byte("\x02garbage"), damaged},
		{"cut short", good[:len(good)-1], damaged},
		{"more behind it", append(slices.Clip(good), 0), damaged},
		{"more behind a transaction", state.EncodeEntry(start, append(slices.Clip(txn), 0)), damaged},
		{"a time that nobody can write down", []byte("\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00"), damaged},
		{"a claim that is too large", []byte("\x02\x00\x00\xff\xff\xff\xff\x7f"), damaged},
		{"a format that is not served", encode(t, start, raise), "apply entry 3: state format 3 is in force, this binary serves 1 to 2: install the version that the other coordinators run"},
		{"a format that is not served, then more", encode(t, start, raise, put(t, node("b"))), "apply entry 3: state format 3 is in force, this binary serves 1 to 2: install the version that the other coordinators run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLog(t)
			l.must(put(t, node("a")))
			l.must(put(t, node("c")))
			_, err := l.store.Apply(3, tt.data)
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if _, again := l.store.Apply(4, good); !errors.Is(again, err) {
				t.Errorf("after that it went on: %v", again)
			}
			if err := l.store.Wait(t.Context(), 9); !errors.Is(err, model.ErrStopped) {
				t.Errorf("wait for what will never come: %v", err)
			}
		})
	}
}

func TestApplyRefusesToGoBack(t *testing.T) {
	l := newLog(t)
	l.must(put(t, node("a")))
	if _, err := l.store.Apply(1, encode(t, start, put(t, node("b")))); err == nil {
		t.Error("entry 1 was applied twice")
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	l := newLog(t)
	l.must(put(t, node("a")))
	if _, err := l.store.Apply(2, encode(t, start.Add(-time.Hour), put(t, node("b")))); err != nil {
		t.Fatal(err)
	}
	if got, want := l.store.View().Time(), start.Add(time.Second); !got.Equal(want) {
		t.Errorf("time in force %v, want %v", got, want)
	}
}

func TestARepeatedRequestGetsTheFirstAnswer(t *testing.T) {
	request := func(id, hash string, o model.Object) state.Txn {
		txn, _ := state.NewTxn("admin/test", "put").RequestOf(id, hash).Put(o).Txn()
		return txn
	}
	l := newLog(t)
	first := l.apply(request("q1", "", node("a")))[0]
	again := l.apply(request("q1", "", node("a")))[0] // would be refused: a exists
	if diff := cmp.Diff(first, again); diff != "" || first.Revision != 1 {
		t.Errorf("second answer (-first +second):\n%s", diff)
	}
	other := l.apply(request("q1", "", node("b")))[0]
	want := &model.Refusal{Constraint: "request", Object: "request q1", Reason: "this request id was used for something else: use a new one"}
	if diff := cmp.Diff(want, other.Refusal); diff != "" {
		t.Errorf("other content (-want +got):\n%s", diff)
	}
	refused := l.apply(request("q2", "", node("a")))[0]
	l.must(remove(node("a")))
	if again := l.apply(request("q2", "", node("a")))[0]; again.Err() == nil || again.Err().Error() != refused.Err().Error() {
		t.Errorf("a refused request was granted when it was repeated: %v", again.Err())
	}
	l.apply(request("q3", "make c", node("c")))
	if r := l.apply(request("q3", "make c", with(node("c"), func(n *model.Node) { n.UID = "another" })))[0]; r.Err() != nil || r.Revision != 7 {
		t.Errorf("the same request in other words: %v at %d, want accepted at 7", r.Err(), r.Revision)
	}
	if r, ok := l.store.View().Request("q3"); !ok || r.Revision != 7 {
		t.Errorf("request q3 is remembered as %v, %v", r, ok)
	}
}

func TestTheOldestRequestsAreForgotten(t *testing.T) {
	const rows, more = 100_000, 100
	l := newLog(t)
	var batch []state.Txn
	for i := range rows + more {
		batch = append(batch, state.Txn{RequestID: fmt.Sprint(i), Cause: "nothing"})
		if len(batch) == 1000 || i == rows+more-1 {
			l.must(batch...)
			batch = nil
		}
	}
	v := l.store.View()
	_, last := v.Request(fmt.Sprint(more - 1))
	_, first := v.Request(fmt.Sprint(more))
	if last || !first {
		t.Errorf("request %d is remembered: %v, %d: %v; want false, true", more-1, last, more, first)
	}
}

func TestWatchTellsOfEveryKeyAndNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		var told []string
		release := make(chan struct{})
		stop := l.store.Watch(func(index uint64, keys []model.Key) {
			var names []string
			for _, k := range keys {
				names = append(names, k.String())
			}
			if at := l.store.Index(); at < index {
				t.Errorf("told of %d, the store is at %d", index, at)
			}
			told = append(told, fmt.Sprintf("%d %s", index, strings.Join(names, " ")))
			<-release
		})
		l.must(put(t, node("b"), node("a")))
		synctest.Wait() // the watcher is busy now
		l.must(put(t, node("c")))
		l.must(put(t, node("a")))
		l.apply(state.Txn{Expect: map[model.Key]uint64{node("c").Key(): 99}})
		close(release)
		synctest.Wait()
		l.apply(state.Txn{Cause: "nothing changes"})
		synctest.Wait()
		stop()
		l.must(put(t, node("d")))
		if diff := cmp.Diff([]string{"1 node/a node/b", "4 node/a node/c"}, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

func TestWaitReturnsWhenTheEntryIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		done := make(chan error, 1)
		go func() { done <- l.store.Wait(t.Context(), 2) }()
		l.must(put(t, node("a")))
		synctest.Wait()
		if len(done) > 0 {
			t.Error("it did not wait for entry 2")
		}
		l.must(put(t, node("b")))
		if err := <-done; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.store.Wait(ctx, 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait for an entry that does not come: %v", err)
		}
	})
}

// trail is a sink.
type trail []state.Header

func (t *trail) Append(entry []state.Header) { *t = append(*t, entry...) }
func (t *trail) Sync()                       {}

func TestAuditChainsEveryTransaction(t *testing.T) {
	var got trail
	l := newLog(t)
	l.store = state.NewStore(state.Options{Sink: &got})
	place := put(t, node("a"), node("b"))
	place.Cause, place.RequestID = "add two", "q1"
	l.apply(place, put(t, reservation("r1", 1)))
	l.apply(remove(node("a")))
	key := func(o model.Object) []model.Key { return []model.Key{o.Key()} }
	want := trail{
		{
			Index: 1, Of: 2, Time: start.Add(time.Second), Actor: "admin/test", Cause: "add two", RequestID: "q1",
			Put: []model.Key{node("a").Key(), node("b").Key()}, Revision: 1,
		},
		{
			Index: 1, Number: 1, Of: 2, Time: start.Add(time.Second), Actor: "admin/test", Cause: "put", Put: key(reservation("r1", 1)),
			Refusal: &model.Refusal{
				Constraint: "capacity", Object: "pool n1/vg0", Asked: gib,
				Reason: "1 GiB asked, but its size is not known: no report of it has been recorded",
			},
			Nodes: []string{"n1"}, Volumes: []string{"db-1"},
		},
		{Index: 2, Of: 1, Time: start.Add(2 * time.Second), Actor: "admin/test", Cause: "delete", Delete: key(node("a")), Revision: 2},
	}
	var previous state.Hash
	for i := range want {
		want[i].Previous = previous
		want[i].Hash = want[i].Sum()
		previous = want[i].Hash
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trail (-want +got):\n%s", diff)
	}
	if l.store.View().Chain() != previous {
		t.Error("the head of the chain is not part of the state")
	}
}
