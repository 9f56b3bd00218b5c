package admin

import (
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
