package admin

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
)

func TestAttachIsRefusedWithTheReason(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(w *world)
		node   string
		kind   error
		says   []string
	}{
		{"an unknown node", func(*world) {}, "n9", model.ErrNotFound, []string{"node n9"}},
		{"before it is formed", func(w *world) {
			w.forming("db-1", &model.Transition{})
		}, "n1", model.ErrBusy, []string{"not formed yet"}},
		{"while it is deleted", func(w *world) {
			vol, _ := get[*model.Volume](w, "db-1")
			vol = model.Clone(vol)
			vol.DeletingSince = time.Now()
			w.put(vol)
		}, "n1", model.ErrBusy, []string{"being deleted"}},
		{"on a node without a copy, on DRBD 8.4", func(w *world) { w.node("n3") }, "n3", model.ErrBusy, []string{"UnsupportedByDRBD84", "no copy of it on node n3"}},
		{"on a node without a copy, of a class that wants one there", func(w *world) {
			w.node("n3")
			w.change("db-1", func(vs *model.VolumeStatus) {
				vs.DRBD, vs.Configuration = "9", &model.Configuration{FTT: 1, Pool: "p", VolumeAccess: model.AccessLocal}
			})
		}, "n3", model.ErrBusy, []string{"VolumeAccessLocalityNotSatisfied", "volume access Local"}},
		{"on a node that is not in the pool", func(w *world) {
			w.node("n3")
			w.change("db-1", func(vs *model.VolumeStatus) { vs.DRBD = "9" })
		}, "n3", model.ErrBusy, []string{"NodeNotEligible", "node n3 is not one of pool p's with DRBD 9"}},
		{"on a fenced node", func(w *world) {
			n, _ := get[*model.Node](w, "n1")
			n = model.Clone(n)
			n.Fenced = &model.Fence{By: "test"}
			w.put(n)
		}, "n1", model.ErrBusy, []string{"node n1: it is fenced"}},
		{"on a node that is not Ready", func(w *world) {
			st, _ := get[*model.NodeStatus](w, "n1")
			st = model.Clone(st)
			st.Ready = false
			w.put(st)
		}, "n1", model.ErrBusy, []string{"node n1: it is not Ready"}},
		{"while it is in use elsewhere", func(w *world) { w.attached("db-1", "n2") }, "n1", model.ErrBusy, []string{"in use on node n2"}},
		{"when the other copy went on alone", func(w *world) {
			w.change("db-1", func(vs *model.VolumeStatus) { vs.GoesAlone(1) })
		}, "n1", model.ErrBusy, []string{"replica 1 on n2 went on alone", "lacks"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.node("n1")
			w.node("n2")
			w.class("n1", "n2")
			w.formed("db-1", "n1", "n2")
			tc.change(w)
			_, err := (&volumes{api: w.api}).Attach(w.ctx, &adminv1.AttachRequest{Volume: "db-1", Node: tc.node})
			refused(t, err, tc.kind, tc.says...)
		})
	}
}

// change changes the status of a volume.
func (w *world) change(volume string, how func(*model.VolumeStatus)) {
	w.t.Helper()
	vs, _ := get[*model.VolumeStatus](w, volume)
	vs = model.Clone(vs)
	how(vs)
	w.put(vs)
}

func TestAttachAndDetach(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.node("n2")
	w.class("n1", "n2")
	w.formed("db-1", "n1", "n2")
	s, on := &volumes{api: w.api}, &adminv1.AttachRequest{Volume: "db-1", Node: "n1"}
	a, err := s.Attach(w.ctx, on)
	if err != nil || a.GetDevice() != "/dev/rvol/db-1" || a.GetConditions()[0].GetReason() != "Pending" {
		t.Fatalf("got %v, %v, want an attachment that waits", a, err)
	}
	again, err := s.Attach(w.ctx, on)
	if err != nil || again.GetMeta().GetUid() != a.GetMeta().GetUid() {
		t.Errorf("asked for again: %v, %v, want the same", again, err)
	}
	w.attached("db-1", "n1")
	list, err := (&attachments{api: w.api}).List(w.ctx, &adminv1.ListRequest{Volume: "db-1"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range list.GetAttachments()[0].GetConditions() {
		got[c.GetType()] = c.GetStatus()
	}
	if diff := cmp.Diff(map[string]string{"Attached": "True", "Ready": "True"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Detach(w.ctx, on); err != nil {
		t.Fatal(err)
	}
	if a, _ := get[*model.Attachment](w, "db-1/n1"); !a.Deleting() {
		t.Error("the attachment is not marked")
	}
	_, err = s.Attach(w.ctx, on)
	refused(t, err, model.ErrBusy, "being detached")
	_, err = s.Detach(w.ctx, &adminv1.AttachRequest{Volume: "db-1", Node: "n2"})
	refused(t, err, model.ErrNotFound, "not attached on node n2")
}
