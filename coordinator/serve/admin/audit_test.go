package admin

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// sent collects what a stream sends.
type sent[T any] struct {
	grpc.ServerStreamingServer[T]
	all []*T
}

func (s *sent[T]) Send(m *T) error { s.all = append(s.all, m); return nil }

func TestTheTrailTellsWhatWasDoneAndWhatWasRefused(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	before := w.Store.View().Index()
	n, _ := get[*model.Node](w, "n1")
	good, _ := state.NewTxn("admin/ben", "change node n1").Put(model.Clone(n)).Txn()
	if _, err := w.Propose(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Propose(t.Context(), good); !errors.Is(err, model.ErrConflict) {
		t.Fatalf("the second time: %v, want it refused", err)
	}
	var out sent[adminv1.AuditEntry]
	if err := (&trail{api: w.api}).Entries(&adminv1.AuditEntriesRequest{Since: before + 1, Actor: "admin/ben"}, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.all) != 2 || out.all[0].GetRefused() != "" || !strings.Contains(out.all[1].GetRefused(), "changed since") || out.all[0].GetObjects()[0] != "node/n1" {
		t.Errorf("told: %v", out.all)
	}
	for _, e := range out.all {
		var h state.Header
		if err := json.Unmarshal([]byte(e.GetLine()), &h); err != nil || h.Sum() != h.Hash {
			t.Errorf("the line of entry %d does not verify: %v", e.GetIndex(), err)
		}
	}
	var none sent[adminv1.AuditEntry]
	if err := (&trail{api: w.api}).Entries(&adminv1.AuditEntriesRequest{Until: before, Actor: "admin/ben"}, &none); err != nil || len(none.all) > 0 {
		t.Errorf("until before it: %v, %v", none.all, err)
	}
	w.trail.first = 2
	if err := (&trail{api: w.api}).Entries(&adminv1.AuditEntriesRequest{Since: 1}, &out); !errors.Is(err, model.ErrCompacted) {
		t.Errorf("from before the oldest: %v, want it compacted", err)
	}
}

func TestATrailIsComparedWithTheState(t *testing.T) {
	w := newWorld(t)
	verify := func() *adminv1.AuditReport {
		r, err := (&trail{api: w.api}).Verify(w.ctx, &adminv1.AuditVerifyRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := verify(); r.GetFinding() != "" || r.GetChain() != w.Store.View().Chain().String() {
		t.Errorf("a good one: %v", r)
	}
	newest := &w.trail.headers[len(w.trail.headers)-1]
	good := newest.Hash
	newest.Hash[0]++
	if r := verify(); !strings.Contains(r.GetFinding(), "written anew") {
		t.Errorf("one that was written anew: %v", r)
	}
	newest.Hash = good
	w.node("n1")
	w.trail.headers = w.trail.headers[:1]
	if r := verify(); !strings.Contains(r.GetFinding(), "what came after is missing") {
		t.Errorf("one that was cut: %v", r)
	}
	w.trail.damage = errors.New("altered")
	if r := verify(); r.GetFinding() != "altered" {
		t.Errorf("an altered one: %v", r)
	}
}
