package admin

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

func TestEventsGoOnInTheMiddleOfAnEntry(t *testing.T) {
	w := newWorld(t)
	var txns [][]byte
	for _, name := range []string{"n1", "n2", "n3"} {
		txn, err := state.NewTxn("admin/anna", "make "+name).Put(&model.Node{Meta: model.Meta{Name: name}}).Txn()
		if err != nil {
			t.Fatal(err)
		}
		b, err := state.EncodeTxn(txn)
		if err != nil {
			t.Fatal(err)
		}
		txns = append(txns, b)
	}
	entry := state.EncodeEntry(time.Now(), txns...)
	index := w.Store.Index() + 1
	if _, err := w.Store.Apply(index, entry); err != nil {
		t.Fatal(err)
	}
	got, err := (&events{api: w.api}).List(w.ctx, &adminv1.ListEventsRequest{Since: index, SinceNumber: 1})
	if err != nil {
		t.Fatal(err)
	}
	var causes []string
	for _, e := range got.GetEvents() {
		causes = append(causes, e.GetCause())
	}
	if diff := cmp.Diff([]string{"make n2", "make n3"}, causes); diff != "" {
		t.Errorf("after number 0 (-want +got):\n%s", diff)
	}
}

func TestEventsHaveKinds(t *testing.T) {
	for cause, tc := range map[string]struct {
		actor  string
		put    model.Kind
		refuse string // constraint
		want   string // "": it is no event
	}{
		"place db-1/0 on node n1, vg0":                                {actor: "controller/scheduling", put: model.KindReplica, want: "placement"},
		"db-1: nowhere to place a replica":                            {actor: "controller/scheduling", put: model.KindDecision, want: "reject"},
		"forget why db-1 was where it was":                            {actor: "controller/scheduling", put: model.KindDecision, want: "change"},
		"place db-1/1 on node n1, vg0":                                {actor: "controller/scheduling", refuse: model.ConstraintCapacity, want: "reject"},
		"place db-1/2 on node n1, vg0":                                {actor: "controller/scheduling", refuse: model.ConstraintExpect, want: ""},
		"make volume fence, 1 GiB, class r2":                          {actor: "admin/anna", put: model.KindVolume, want: "change"},
		"make volume db-2, 1 GiB, class r2":                           {actor: "admin/anna", refuse: model.ConstraintQuota, want: "reject"},
		"fence node n1, end its use of db-1":                          {actor: "admin/anna", put: model.KindNode, want: "fence"},
		"lift the fence of node n1":                                   {actor: "admin/anna", put: model.KindNode, want: "fence"},
		"node n1 is back and Secondary: lift its fence":               {actor: "controller/node", put: model.KindNode, want: "fence"},
		"volume db-1: replica 0 on n1 goes on alone":                  {actor: "agent/n1", put: model.KindVolumeStatus, want: "fence"},
		"try volume db-1 again":                                       {actor: "admin/anna", put: model.KindReplica, want: "retry"},
		"form db-1: start again (restart 2): n1 lost its disk":        {actor: "controller/volume", put: model.KindVolumeStatus, want: "retry"},
		"replace db-1/0 on n1: begin":                                 {actor: "controller/repair", put: model.KindVolumeStatus, want: "repair"},
		"move db-1/0 from n1 to n3: Synchronize":                      {actor: "controller/transition", put: model.KindVolumeStatus, want: "transition"},
		"attach db-1 on node n1 is asked for":                         {actor: "operator/ben", put: model.KindAttachment, want: "transition"},
		"node n1 is NotReady: nothing heard for 15s":                  {actor: "controller/node", put: model.KindNodeStatus, want: "change"},
		"resize db-1 to 2 GiB: reserve":                               {actor: "admin/anna", put: model.KindVolumeStatus, want: "transition"},
		"release db-1/0: its LV rvol-db-1.0.0 on n1 is gone":          {actor: "controller/release", put: model.KindReservation, want: "transition"},
		"class r2: release its pools, which go with their last user ": {actor: "controller/class", put: model.KindClassStatus, want: "change"},
	} {
		h := state.Header{Actor: tc.actor, Cause: cause, Put: []model.Key{{Kind: tc.put, Name: "db-1"}}}
		if tc.refuse != "" {
			h.Refusal = &model.Refusal{Constraint: tc.refuse}
		}
		got := kindOfEvent(h)
		if !concerns(h, &adminv1.ListEventsRequest{}) {
			got = ""
		}
		if got != tc.want {
			t.Errorf("%s by %s: %q, want %q", cause, tc.actor, got, tc.want)
		}
	}
}

func TestEventsOfOneKindAreListed(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	fenced, err := state.NewTxn("admin/anna", "fence node n1").PutAnyway(&model.Node{Meta: model.Meta{Name: "n1"}, Fenced: &model.Fence{By: "admin/anna"}}).Txn()
	if err == nil {
		_, err = w.Propose(t.Context(), fenced)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&events{api: w.api}).List(w.ctx, &adminv1.ListEventsRequest{Kinds: []string{"fence", "retry"}})
	if err != nil || len(got.GetEvents()) != 1 || got.GetEvents()[0].GetKind() != "fence" {
		t.Errorf("listed %v, %v", got, err)
	}
	_, err = (&events{api: w.api}).List(w.ctx, &adminv1.ListEventsRequest{Kinds: []string{"fences"}})
	refused(t, err, model.ErrInvalid, "want one of placement, reject")
}

// TestEventsAreFoundByNodeAndVolumeForEver asks when what the events were about is gone.
func TestEventsAreFoundByNodeAndVolumeForEver(t *testing.T) {
	w := newWorld(t)
	apply := func(b *state.Build, want error) {
		t.Helper()
		txn, err := b.Txn()
		if err == nil {
			_, err = w.Propose(t.Context(), txn)
		}
		if !errors.Is(err, want) {
			t.Fatalf("%s: %v", txn.Cause, err)
		}
	}
	replica := model.Replica{Meta: model.Meta{Name: "gone/0"}, Volume: "gone", Type: model.Diskful}
	placed := replica
	placed.Node = "n1"
	second := model.Replica{Meta: model.Meta{Name: "gone/1"}, Volume: "gone", ID: 1, Type: model.Diskful, Node: "n1"}
	op := &model.Operation{Meta: model.Meta{Name: "op-1"}, Node: "n1", Volume: "gone"}
	apply(state.NewTxn("admin/anna", "make it").PutAnyway(&replica), nil)
	apply(state.NewTxn("controller/scheduling", "place it").PutAnyway(&placed), nil)
	apply(state.NewTxn("controller/scheduling", "place another").PutAnyway(&second), model.ErrExists)
	apply(state.NewTxn("controller/formation", "order it").PutAnyway(op), nil)
	for _, k := range []model.Key{op.Key(), placed.Key()} {
		o, _ := w.Store.View().Object(k)
		apply(state.NewTxn("controller/release", "remove "+k.String()).Delete(o), nil)
	}
	onNode := []string{"place it", "place another", "order it", "remove operation/op-1", "remove replica/gone/0"}
	for _, tc := range []struct {
		ask  *adminv1.ListEventsRequest
		want []string
	}{
		{&adminv1.ListEventsRequest{Node: "n1"}, onNode},
		{&adminv1.ListEventsRequest{Volume: "gone"}, append([]string{"make it"}, onNode...)},
		{&adminv1.ListEventsRequest{Node: "n2"}, nil},
		{&adminv1.ListEventsRequest{Node: "n1", Volume: "other"}, nil},
	} {
		got, err := (&events{api: w.api}).List(w.ctx, tc.ask)
		if err != nil {
			t.Fatal(err)
		}
		var causes []string
		for _, e := range got.GetEvents() {
			causes = append(causes, e.GetCause())
		}
		if diff := cmp.Diff(tc.want, causes); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tc.ask, diff)
		}
	}
}
