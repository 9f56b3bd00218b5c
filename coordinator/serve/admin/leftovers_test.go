package admin

import (
	"fmt"
	"testing"
	"time"

	"rvol/coordinator/decide/leftover"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
)

// leftOver is n1 with so many deleted copies in vg0 that wait for their turn.
func leftOver(t *testing.T, n int) *world {
	t.Helper()
	w := newWorld(t)
	w.Leftovers = leftover.DefaultLimits()
	w.node("n1")
	w.group("n1", "vg0", 1000)
	w.offer("n1", "vg0", 1000)
	for i := range n {
		volume := fmt.Sprintf("db-%d", i)
		vol := &model.Volume{Class: "r1", Devices: []model.VolumeDevice{{Size: 4 << 20}}}
		vol.Name = volume
		r := &model.Replica{
			Volume: volume, Type: model.Diskful, Node: "n1", VG: "vg0", Port: 17000 + i,
			Devices: []model.ReplicaDevice{{Minor: 10000 + i, Reservation: "res-" + volume}},
		}
		r.Name, r.UID, r.DeletingSince = volume+"/0", volume+"-uid-n1", time.Now()
		res := &model.Reservation{
			OwnerKind: model.OwnerReplica, Owner: r.Name, Pool: model.PoolID{Node: "n1", VG: "uuid-vg0"}, VGName: "vg0",
			LV: "rvol-" + volume + ".0.0", Granted: 8 << 20, State: model.Releasing, Leftover: model.LeftoverWaiting, Imported: true,
		}
		res.Name = "res-" + volume
		w.put(vol, r, res)
	}
	return w
}

func TestLeftoversAreShownKeptAndLetGo(t *testing.T) {
	w := leftOver(t, 7)
	s := &orphans{api: w.api}
	list, err := s.List(w.ctx, &adminv1.ListRequest{})
	if err != nil || len(list.GetOrphans()) != 7 {
		t.Fatalf("%d are listed, %v, want 7", len(list.GetOrphans()), err)
	}
	if o := list.GetOrphans()[0]; o.GetMeta().GetName() != "n1/vg0/rvol-db-0.0.0" || o.GetState() != "waiting" || !o.GetLeftover() || o.GetSince() == nil || o.GetWhy() == "" {
		t.Errorf("listed as %v", o)
	}
	if _, err := s.Keep(w.ctx, &adminv1.KeepOrphanRequest{Name: "n1/vg0/rvol-db-6.0.0"}); err != nil {
		t.Fatal(err)
	}
	_, err = s.RemoveLeftovers(w.ctx, &adminv1.RemoveLeftoversRequest{Node: "n1", Names: []string{"n1/vg0/rvol-db-0.0.0"}})
	refused(t, err, model.ErrInvalid, "once more")
	_, err = s.RemoveLeftovers(w.ctx, &adminv1.RemoveLeftoversRequest{Node: "n1", Confirm: "n1", Names: []string{"n1/vg0/rvol-db-6.0.0"}})
	refused(t, err, model.ErrNotFound, "nothing that was named waits")
	_, err = s.RemoveLeftovers(w.ctx, &adminv1.RemoveLeftoversRequest{Node: "n1", Confirm: "n1", Names: []string{
		"n1/vg0/rvol-db-0.0.0", "n1/vg0/rvol-db-1.0.0", "n1/vg0/rvol-db-6.0.0",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []model.LeftoverState{model.LeftoverGranted, model.LeftoverGranted, model.LeftoverWaiting, 6: model.LeftoverWaiting} {
		if r, _ := get[*model.Reservation](w, fmt.Sprintf("res-db-%d", i)); want != "" && (r.Leftover != want || r.Kept != (i == 6)) {
			t.Errorf("db-%d is %q, kept %v, want %q: only what was shown goes, and nothing that is kept", i, r.Leftover, r.Kept, want)
		}
	}
	if st, _ := get[*model.NodeStatus](w, "n1"); st.Leftovers == nil || st.Leftovers.Granted != 2 {
		t.Errorf("remembered %+v, want that 2 were let go", st.Leftovers)
	}
}

func TestAGroupIsLostOnlyWhenItIsGoneAndGivenUp(t *testing.T) {
	gone := func(w *world) { w.report("n1", func(n *inventory.Node) { n.VGs = nil }) }
	for _, tc := range []struct {
		name   string
		change func(*world)
		kind   error
		says   string
	}{
		{"it is there", func(*world) {}, model.ErrBusy, "volume group vg0 is there"},
		{"its node does not report", func(w *world) {
			w.inv.Close("n1", w.inv.View().Node("n1").Session)
		}, model.ErrUnavailable, "node n1 does not report completely"},
		{"its node does not know all it has", func(w *world) {
			w.report("n1", func(n *inventory.Node) { n.VGs, n.StorageError = nil, "garbage" })
		}, model.ErrUnavailable, "does not report completely"},
		{"something counts on it", func(w *world) {
			gone(w)
			r, _ := get[*model.Reservation](w, "res-db-0")
			r = model.Clone(r)
			r.State, r.Leftover = model.Bound, ""
			w.put(r)
		}, model.ErrBusy, "which is not given up"},
		{"DRBD has it up", func(w *world) {
			gone(w)
			w.resource("n1", "db-0", func(*inventory.Resource) {})
		}, model.ErrBusy, "DRBD has rvol-db-0 up"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := leftOver(t, 1)
			tc.change(w)
			_, err := (&lvgs{api: w.api}).Lost(w.ctx, &adminv1.DeleteRequest{Name: "n1/vg0", Confirm: "n1/vg0"})
			refused(t, err, tc.kind, tc.says)
			if _, ok := get[*model.Reservation](w, "res-db-0"); !ok {
				t.Error("its reservation was forgotten all the same")
			}
		})
	}
	w := leftOver(t, 2)
	gone(w)
	s := &lvgs{api: w.api}
	_, err := s.Lost(w.ctx, &adminv1.DeleteRequest{Name: "n1/vg0"})
	refused(t, err, model.ErrInvalid, "once more")
	got, err := s.Lost(w.ctx, &adminv1.DeleteRequest{Name: "n1/vg0", Confirm: "n1/vg0"})
	if err != nil || len(got.GetForgotten()) != 2 {
		t.Fatalf("forgot %v, %v, want 2", got.GetForgotten(), err)
	}
	for _, name := range []string{"res-db-0", "res-db-1"} {
		if _, ok := get[*model.Reservation](w, name); ok {
			t.Errorf("%s is there still", name)
		}
	}
	if _, ok := get[*model.LVG](w, "n1/vg0"); ok {
		t.Error("it is offered still")
	}
	if _, ok := get[*model.Replica](w, "db-0/0"); ok {
		t.Error("replica db-0/0 is there still")
	}
}
