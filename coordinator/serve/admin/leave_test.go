package admin

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

func TestDrainDetachesNothingAndSaysWhatStays(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.node("n2")
	w.class("n1", "n2")
	w.formed("db-1", "n1", "n2")
	at := &model.Attachment{Volume: "db-1", Node: "n1", Granted: true}
	at.Name = model.AttachmentName("db-1", "n1")
	w.put(at)
	got, err := (&nodes{api: w.api}).Drain(w.ctx, &adminv1.DrainNodeRequest{Name: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	if !got.GetNode().GetUnschedulable() || len(got.GetBegun()) != 0 || len(got.GetLeft()) != 1 {
		t.Fatalf("got %v, want the node cordoned and its replica left", got)
	}
	if says := got.GetLeft()[0].GetMessage(); !strings.Contains(says, "rvol volume detach db-1 n1") {
		t.Errorf("of the one in use it says %q", says)
	}
	if _, ok := get[*model.Attachment](w, "db-1/n1"); !ok {
		t.Error("it was detached")
	}
	got, err = (&nodes{api: w.api}).Drain(w.ctx, &adminv1.DrainNodeRequest{Name: "n1", Cancel: true})
	if err != nil || got.GetNode().GetUnschedulable() {
		t.Errorf("cancelled: %v, %v, want the node schedulable", got.GetNode(), err)
	}
}

func TestDrainWaitsForWhatElseIsChanged(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.node("n2")
	w.class("n1", "n2")
	w.formed("db-1", "n1", "n2")
	vs, _ := get[*model.VolumeStatus](w, "db-1")
	vs = model.Clone(vs)
	vs.Transitions = []model.Transition{{Type: "Resize", Plan: "resize/v1", Title: "grow db-1"}}
	w.put(vs)
	s := &nodes{api: w.api}
	got, err := s.Drain(w.ctx, &adminv1.DrainNodeRequest{Name: "n1"})
	if err != nil || len(got.GetBegun()) != 1 || got.GetBegun()[0].GetMessage() != "waits until this is over: grow db-1" {
		t.Errorf("beside another change: %v, %v, want it waited for", got, err)
	}
	index := w.api.Store.View().Index()
	if _, err := s.Drain(w.as(identity.Admin, "r-1"), &adminv1.DrainNodeRequest{Name: "n1"}); err != nil || w.api.Store.View().Index() != index {
		t.Errorf("asked how far it is: %v, want no entry", err)
	}
}

func TestALostNodeIsNamedTwiceAndNeverTakenBack(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	s := &nodes{api: w.api}
	for name, r := range map[string]*adminv1.FenceNodeRequest{
		"the name is not given again":   {Name: "n1"},
		"another name is given":         {Name: "n1", Confirm: "n2"},
		"it is to be taken back":        {Name: "n1", Confirm: "n1", Undo: true},
		"there is no node of that name": {Name: "n9", Confirm: "n9"},
	} {
		if _, err := s.Lost(w.ctx, r); !errors.Is(err, model.ErrInvalid) && !errors.Is(err, model.ErrNotFound) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
	got, err := s.Lost(w.ctx, &adminv1.FenceNodeRequest{Name: "n1", Confirm: "n1"})
	if err != nil || !got.GetNode().GetFenced() {
		t.Errorf("got %v, %v, want the node fenced", got, err)
	}
}

func TestRetryCounts(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.node("n2")
	w.class("n1", "n2")
	w.formed("db-1", "n1", "n2")
	s := &replicas{api: w.api}
	for _, r := range []*adminv1.RetryRequest{{Replica: "db-1/0"}, {Volume: "db-1"}} {
		if _, err := s.Retry(w.ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := get[*model.Replica](w, "db-1/0")
	second, _ := get[*model.Replica](w, "db-1/1")
	if first.Retry != 2 || second.Retry != 1 {
		t.Errorf("retries %d and %d, want 2 and 1", first.Retry, second.Retry)
	}
}

func TestWhatAnAgentIsRefusedIsTold(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.node("n2")
	w.class("n1", "n2")
	w.formed("db-1", "n1", "n2")
	s := &replicas{api: w.api}
	for _, tc := range []struct {
		refusals int
		failed   bool
		want     string // status and reason; empty: no condition
		says     string
	}{
		{0, false, "", ""},
		{1, false, "False BackoffWait", "refused 1 times: LV vg0/x lacks our tags; it is tried again within 5s"},
		{4, false, "False BackoffWait", "tried again within 40s"},
		{9, false, "False BackoffWait", "tried again within 2m0s, or at once when something changes or with `rvol replica retry db-1/0`"},
		{10, true, "True NoSpace", "given up after 10 refusals: LV vg0/x lacks our tags; it is tried again when its node, its volume or its space changes, or with `rvol replica retry db-1/0`"},
	} {
		w.report("n1", func(n *inventory.Node) {
			n.Replicas = map[string]inventory.ReplicaState{"db-1-uid-n1": {
				Volume: "db-1", UID: "db-1-uid-n1", Error: "LV vg0/x lacks our tags", ErrorClass: "no-space", Refusals: tc.refusals, Failed: tc.failed,
			}}
		})
		list, err := s.List(w.ctx, &adminv1.ListRequest{Names: []string{"db-1/0"}})
		if err != nil {
			t.Fatal(err)
		}
		got, message := "", ""
		for _, c := range list.GetReplicas()[0].GetConditions() {
			if c.GetType() == "Failed" {
				got, message = c.GetStatus()+" "+c.GetReason(), c.GetMessage()
			}
		}
		if got != tc.want || !strings.Contains(message, tc.says) {
			t.Errorf("after %d refusals: %q %q, want %q %q", tc.refusals, got, message, tc.want, tc.says)
		}
	}
}

func TestReconcilingIsAcceptedAsItWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("n1")
		w.node("n2")
		w.class("n1", "n2")
		w.formed("db-1", "n1", "n2")
		c, _ := get[*model.Cluster](w, model.ClusterName)
		c = model.Clone(c)
		c.Incarnation, c.Reconciling, c.Restored = 2, true, "restored"
		w.put(c)
		s := &cluster{api: w.api}
		ask := func(r *adminv1.ReconcileRequest) (*adminv1.Reconciliation, error) { return s.Reconcile(w.ctx, r) }
		if _, err := ask(&adminv1.ReconcileRequest{Accept: true}); !errors.Is(err, model.ErrBusy) {
			t.Fatalf("before anybody reported: %v, want a refusal", err)
		}
		w.report("n1", func(n *inventory.Node) { n.Accepted = inventory.Order{Incarnation: 2, Index: 1} })
		if _, err := ask(&adminv1.ReconcileRequest{SetAside: []string{"n9"}}); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("a node that is not there set aside: %v", err)
		}
		seen, err := ask(&adminv1.ReconcileRequest{SetAside: []string{"n2"}})
		if err != nil || seen.GetNodes()[1].GetState() != "set-aside" {
			t.Fatalf("got %v, %v, want n2 set aside", seen, err)
		}
		w.resource("n1", "db-1", func(r *inventory.Resource) { r.Role = drbd.Primary })
		if _, err := ask(&adminv1.ReconcileRequest{Accept: true, Digest: seen.GetDigest()}); !errors.Is(err, model.ErrConflict) {
			t.Fatalf("with a difference that nobody saw: %v, want a conflict", err)
		}
		if seen, err = ask(&adminv1.ReconcileRequest{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := ask(&adminv1.ReconcileRequest{Accept: true, Digest: seen.GetDigest()}); err != nil {
			t.Fatal(err)
		}
		if a, ok := get[*model.Attachment](w, "db-1/n1"); !ok || !a.Granted {
			t.Errorf("attachment %v: what is in use was not attached", a)
		}
		if c, _ := get[*model.Cluster](w, model.ClusterName); c.Reconciling || c.SetAside != nil {
			t.Errorf("cluster %+v still reconciles", c)
		}
	})
}
