package admin

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
)

func fenceNode(w *world, r *adminv1.FenceNodeRequest) (*adminv1.FenceNodeResponse, error) {
	r.Confirm = r.GetName()
	return (&nodes{api: w.api}).Fence(w.ctx, r)
}

// pair is a volume on n1 and n2, attached on n1.
func pair(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.node("n1")
	w.node("n2")
	w.class("n1", "n2")
	w.formed("db-1", "n1", "n2")
	w.attached("db-1", "n1")
	return w
}

func TestFenceLetsTheOtherCopyGoOn(t *testing.T) {
	w := pair(t)
	got, err := fenceNode(w, &adminv1.FenceNodeRequest{Name: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"db-1"}, got.GetReleased()); diff != "" || !got.GetNode().GetFenced() {
		t.Errorf("released %v, node %v", got.GetReleased(), got.GetNode())
	}
	if _, there := get[*model.Attachment](w, "db-1/n1"); there {
		t.Error("the attachment is still there")
	}
	vs, _ := get[*model.VolumeStatus](w, "db-1")
	if vs.Sole == nil || *vs.Sole != 1 {
		t.Errorf("sole is %v, want the copy on n2", vs.Sole)
	}
	n, _ := get[*model.Node](w, "n1")
	if n.Fenced.By != "admin/anna" || n.Fenced.Epoch != 1 {
		t.Errorf("fence %+v", n.Fenced)
	}
	if _, err := (&volumes{api: w.api}).Attach(w.ctx, &adminv1.AttachRequest{Volume: "db-1", Node: "n2"}); err != nil {
		t.Errorf("attach on the other node: %v", err)
	}
	if _, err := fenceNode(w, &adminv1.FenceNodeRequest{Name: "n1", Undo: true}); err != nil {
		t.Fatal(err)
	}
	if n, _ := get[*model.Node](w, "n1"); n.Fenced != nil {
		t.Error("the fence stands after it was taken back")
	}
	if vs, _ := get[*model.VolumeStatus](w, "db-1"); vs.Sole == nil {
		t.Error("taking the fence back made the copies equal again")
	}
}

func TestFenceOfTheCopyThatWentOnAloneIsRefused(t *testing.T) {
	w := pair(t)
	w.change("db-1", func(vs *model.VolumeStatus) { vs.Sole = new(int) })
	_, err := fenceNode(w, &adminv1.FenceNodeRequest{Name: "n1"})
	refused(t, err, model.ErrBusy, "went on alone with db-1", "acknowledged")
	if _, there := get[*model.Attachment](w, "db-1/n1"); !there {
		t.Error("a refused fence ended the attachment")
	}
	if _, err := fenceNode(w, &adminv1.FenceNodeRequest{Name: "n1", AcceptStale: true}); err != nil {
		t.Fatal(err)
	}
	if vs, _ := get[*model.VolumeStatus](w, "db-1"); *vs.Sole != 1 {
		t.Errorf("sole is %d, want the copy on n2", *vs.Sole)
	}
}

func TestFenceGivesNothingToAFencedNode(t *testing.T) {
	w := pair(t)
	for _, n := range []string{"n1", "n2"} {
		if _, err := fenceNode(w, &adminv1.FenceNodeRequest{Name: n}); err != nil {
			t.Fatal(err)
		}
	}
	if vs, _ := get[*model.VolumeStatus](w, "db-1"); *vs.Sole != 1 {
		t.Errorf("sole is %d, want it to stay with the copy on n2", *vs.Sole)
	}
}

func TestFenceWantsTheName(t *testing.T) {
	w := pair(t)
	_, err := (&nodes{api: w.api}).Fence(w.ctx, &adminv1.FenceNodeRequest{Name: "n1", Confirm: "n2"})
	refused(t, err, model.ErrInvalid, "once more")
	_, err = fenceNode(w, &adminv1.FenceNodeRequest{Name: "n9"})
	refused(t, err, model.ErrNotFound, "node n9")
}

func TestANodeThatHoldsSomethingIsNotDeleted(t *testing.T) {
	w := pair(t)
	remove := func(name string) error {
		_, err := (&nodes{api: w.api}).Delete(w.ctx, &adminv1.DeleteRequest{Name: name, Confirm: name})
		return err
	}
	refused(t, remove("n1"), model.ErrBusy, "holds replica db-1/0")
	w.node("n3")
	w.offer("n3", "vg0", 10)
	refused(t, remove("n3"), model.ErrBusy, "offers volume group vg0")
	res := &model.Reservation{OwnerKind: model.OwnerHold, Owner: "x", Pool: model.PoolID{Node: "n3", VG: "uuid-vg0"}, VGName: "vg0", Granted: extent, State: model.Reserved}
	res.Name = "r1"
	w.put(res)
	refused(t, remove("n3"), model.ErrBusy, "4 MiB of hold x are reserved")
	w.node("n4")
	if err := remove("n4"); err != nil {
		t.Fatal(err)
	}
	if _, there := get[*model.Node](w, "n4"); there {
		t.Error("the node is still there")
	}
	if _, there := get[*model.Identity](w, "key-of-n4"); there {
		t.Error("its key is still known")
	}
}

func TestNodesTellWhatTheirAgentsSaid(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.group("n1", "vg0", 100)
	w.offer("n1", "vg0", 100)
	w.report("n1", func(n *inventory.Node) {
		n.Conditions = []model.Condition{{Type: "DRBDServiceDisabled", Status: model.False, Message: "disable drbd.service"}}
	})
	yes, zone := true, "a"
	n, err := (&nodes{api: w.api}).Set(w.ctx, &adminv1.SetNodeRequest{Name: "n1", Unschedulable: &yes, Zone: &zone})
	if err != nil {
		t.Fatal(err)
	}
	if n.GetZone() != "a" || !n.GetUnschedulable() || !n.GetReady() || !n.GetConnected() || n.GetDrbd() != "8.4.11" {
		t.Errorf("node %v", n)
	}
	if vg := n.GetVgs()[0]; !vg.GetOffered() || vg.GetThinPools()[0].GetOffered() {
		t.Errorf("volume group %v, want it offered, and its thin pool not", vg)
	}
	got := map[string]string{}
	for _, c := range n.GetConditions() {
		got[c.GetType()] = c.GetStatus()
	}
	want := map[string]string{"DRBD": "True", "LVM": "True", "Thin": "True", "DRBDServiceDisabled": "False"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	bad := "Not A Zone"
	_, err = (&nodes{api: w.api}).Set(w.ctx, &adminv1.SetNodeRequest{Name: "n1", Zone: &bad})
	refused(t, err, model.ErrInvalid, "zone")
}
