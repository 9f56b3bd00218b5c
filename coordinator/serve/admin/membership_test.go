package admin

import (
	"testing"

	"rvol/coordinator/decide/transition"
	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
)

// onNine is a volume of two copies on DRBD 9, and nodes to spare.
func onNine(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	for _, n := range []string{"n1", "n2", "n3"} {
		w.node(n)
		w.group(n, "vg0", 1000)
		w.offer(n, "vg0", 1000)
	}
	w.class("n1", "n2", "n3")
	w.formed("db-1", "n1", "n2")
	w.change("db-1", func(vs *model.VolumeStatus) { vs.DRBD, vs.Configuration.GMDR, vs.Configuration.FTT = "9", 1, 0 })
	return w
}

func TestAReplicaIsMovedByATransition(t *testing.T) {
	w := onNine(t)
	begun, err := (&replicas{api: w.api}).Move(w.ctx, &adminv1.MoveReplicaRequest{Name: "db-1/1", To: &adminv1.Place{Node: "n3", Vg: "vg0"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := begun.GetTransition(); got.GetPlan() != "replace-diskful/v1" || got.GetTitle() != "move db-1/1 from n2 to n3/vg0, as db-1/2" {
		t.Errorf("begun: %v", got)
	}
	r, ok := get[*model.Replica](w, "db-1/2")
	if !ok || r.Type != model.Diskful || r.UID == "" {
		t.Errorf("the new replica: %+v", r)
	}
	vs, _ := get[*model.VolumeStatus](w, "db-1")
	if want := (model.ReplicaPlace{Node: "n3", VG: "vg0"}); transition.Wishes(vs)[2] != want || !transition.Leaving(vs, 1) {
		t.Errorf("wishes %v, leaving %v", transition.Wishes(vs), transition.Leaving(vs, 1))
	}
	if _, err := (&volumes{api: w.api}).Cancel(w.ctx, &adminv1.CancelRequest{Name: "db-1", Plan: "resize"}); err == nil {
		t.Error("a resize is cancelled that is not under way")
	}
	v, err := (&volumes{api: w.api}).Cancel(w.ctx, &adminv1.CancelRequest{Name: "db-1"})
	if err != nil || v.GetTransitions()[0].GetAbort() == "" {
		t.Errorf("cancelled: %v, %v", v.GetTransitions(), err)
	}
}

func TestChangesOfReplicasThatAreRefused(t *testing.T) {
	move := func(name string, to *adminv1.Place) func(*world) error {
		return func(w *world) error {
			_, err := (&replicas{api: w.api}).Move(w.ctx, &adminv1.MoveReplicaRequest{Name: name, To: to})
			return err
		}
	}
	remove := func(r *adminv1.RemoveReplicaRequest) func(*world) error {
		return func(w *world) error { _, err := (&replicas{api: w.api}).Remove(w.ctx, r); return err }
	}
	add := func(r *adminv1.AddReplicaRequest) func(*world) error {
		return func(w *world) error { _, err := (&replicas{api: w.api}).Add(w.ctx, r); return err }
	}
	for _, tc := range []struct {
		name string
		do   func(*world) error
		kind error
		says string
	}{
		{"no replica's name", move("db-1", nil), model.ErrInvalid, "want VOLUME/ID"},
		{"no such volume", move("db-9/0", nil), model.ErrNotFound, "db-9"},
		{"no such replica", move("db-1/7", nil), model.ErrInvalid, "no replica 7"},
		{"no such node", move("db-1/1", &adminv1.Place{Node: "n9"}), model.ErrNotFound, "n9"},
		{"no such LVG", move("db-1/1", &adminv1.Place{Node: "n3", Vg: "vg9"}), model.ErrNotFound, "vg9"},
		{"no such thin pool", move("db-1/1", &adminv1.Place{Node: "n3", Vg: "vg0", ThinPool: "tp"}), model.ErrNotFound, "thin pool tp"},
		{"the node has a copy", move("db-1/1", &adminv1.Place{Node: "n1"}), model.ErrInvalid, "has replica db-1/0 already"},
		{"the same volume group", move("db-1/1", &adminv1.Place{Node: "n2", Vg: "vg0"}), model.ErrInvalid, "already"},
		{"the class wants it", remove(&adminv1.RemoveReplicaRequest{Name: "db-1/1"}), model.ErrInvalid, "wants 2 copies"},
		{"given up without the name once more", remove(&adminv1.RemoveReplicaRequest{Name: "db-1/1", Force: true}), model.ErrInvalid, "once more"},
		{"given up while its node is there", remove(&adminv1.RemoveReplicaRequest{Name: "db-1/1", Force: true, Confirm: "db-1/1"}), model.ErrBusy, "is not fenced"},
		{"no such type", add(&adminv1.AddReplicaRequest{Volume: "db-1", Type: "Witness"}), model.ErrInvalid, "Witness"},
		{"nothing to cancel", func(w *world) error {
			_, err := (&volumes{api: w.api}).Cancel(w.ctx, &adminv1.CancelRequest{Name: "db-1"})
			return err
		}, model.ErrBusy, "nothing is under way"},
		{"no such class", func(w *world) error {
			_, err := (&volumes{api: w.api}).Set(w.ctx, &adminv1.SetVolumeRequest{Name: "db-1", Class: "none"})
			return err
		}, model.ErrNotFound, "none"},
	} {
		t.Run(tc.name, func(t *testing.T) { refused(t, tc.do(onNine(t)), tc.kind, tc.says) })
	}
}
