package admin

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

func TestOfferAVolumeGroup(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.group("n1", "vg0", 100)
	s := &lvgs{api: w.api}
	got, err := s.Create(w.ctx, &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg0", ThinPools: []string{"tp"}})
	if err != nil {
		t.Fatal(err)
	}
	l, _ := get[*model.LVG](w, "n1/vg0")
	if l.UUID != "uuid-vg0" || l.ThinPools[0].UUID != "uuid-tp" || l.OverProvisioningPercent != 200 || l.StopDataPercent != 95 || l.StopMetadataPercent != 95 {
		t.Errorf("stored %+v", l)
	}
	if got.GetConditions()[0].GetStatus() != "Unknown" || len(got.GetSpaces()) != 2 {
		t.Errorf("answer %v, want two spaces whose size is not known yet", got)
	}
	_, err = s.Create(w.ctx, &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg0"})
	refused(t, err, model.ErrExists, "lvg n1/vg0: is offered already")
	over := int32(99)
	_, err = s.Set(w.ctx, &adminv1.SetLVGRequest{Name: "n1/vg0", OverProvisioningPercent: &over})
	refused(t, err, model.ErrInvalid, "want 100 to")
}

func TestAThinPoolThatWasMadeAnewIsOfferedWhenNothingStandsOnTheFormer(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.group("n1", "vg0", 100)
	s := &lvgs{api: w.api}
	if _, err := s.Create(w.ctx, &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg0", ThinPools: []string{"tp"}}); err != nil {
		t.Fatal(err)
	}
	again := func() error {
		_, err := s.Set(w.ctx, &adminv1.SetLVGRequest{Name: "n1/vg0", AddThinPools: []string{"tp"}})
		return err
	}
	refused(t, again(), model.ErrExists, "thin pool tp is offered already")
	res := &model.Reservation{
		Meta: model.Meta{Name: "res-1"}, OwnerKind: model.OwnerHold, Owner: "h", State: model.Reserved, Granted: 1 << 20,
		Pool: model.PoolID{Node: "n1", VG: "uuid-vg0", ThinLV: "uuid-tp"}, VGName: "vg0",
	}
	size := &model.Capacity{Pool: res.Pool, VGName: "vg0", ThinPoolName: "tp", ExtentSize: extent, Extents: 100, Percent: 200}
	size.Name = res.Pool.String()
	w.put(size, res)
	w.report("n1", func(n *inventory.Node) { n.VGs[0].ThinPools[0].UUID = "uuid-new" })
	refused(t, again(), model.ErrBusy, "another thin pool of that name now (UUID uuid-new)", "it holds 1 MiB of hold h")
	stored, _ := get[*model.Reservation](w, res.Name)
	txn, err := state.NewTxn("test", "release").Delete(stored).Txn()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Propose(w.ctx, txn); err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
	if l, _ := get[*model.LVG](w, "n1/vg0"); len(l.ThinPools) != 1 || l.ThinPools[0].UUID != "uuid-new" {
		t.Errorf("offered are %v, want the new one alone", l.ThinPools)
	}
}

func TestWhatIsNotThereIsNotOffered(t *testing.T) {
	for _, tc := range []struct {
		name string
		r    *adminv1.CreateLVGRequest
		kind error
		says []string
	}{
		{"an unknown node", &adminv1.CreateLVGRequest{Node: "n9", Vg: "vg0"}, model.ErrNotFound, []string{"node n9: not found"}},
		{"an unknown group", &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg9"}, model.ErrNotFound, []string{"no volume group vg9", "vg0, vg1"}},
		{"an unknown thin pool", &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg0", ThinPools: []string{"x"}}, model.ErrNotFound, []string{"no thin pool x, but tp"}},
		{"a node that does not report", &adminv1.CreateLVGRequest{Node: "n2", Vg: "vg0"}, model.ErrUnavailable, []string{"node n2", "not reported"}},
		{"nothing", &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg0", ThickOff: true}, model.ErrInvalid, []string{"nothing would be offered"}},
		{"a name with a slash", &adminv1.CreateLVGRequest{Node: "n1", Vg: "../etc"}, model.ErrInvalid, []string{"volume group name"}},
		{"a device out of /dev", &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg2", Device: "/dev/../etc/passwd"}, model.ErrInvalid, []string{"under /dev"}},
		{"a device for a group that is there", &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg0", Device: "/dev/sdb"}, model.ErrExists, []string{"leave out the device"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.node("n1")
			w.group("n1", "vg0", 100)
			w.group("n1", "vg1", 100)
			w.node("n2")
			w.inv.Close("n2", w.inv.View().Node("n2").Session)
			_, err := (&lvgs{api: w.api}).Create(w.ctx, tc.r)
			if tc.name == "a device for a group that is there" {
				refused(t, err, tc.kind, "has a volume group vg0 already")
				return
			}
			refused(t, err, tc.kind, tc.says...)
		})
	}
}

func TestAVolumeGroupIsMadeOnAnEmptyDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("n1")
		s := &lvgs{api: w.api}
		r := &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg1", Device: "/dev/sdb", ThinPools: []string{"tp"}}
		end := func(phase model.OperationPhase, text string) {
			synctest.Wait()
			op, ok := get[*model.Operation](w, "create-vg-n1-vg1")
			if !ok || op.Type != model.OperationCreateVG || op.VG.Device != "/dev/sdb" || op.VG.ThinPool != "tp" || op.Phase != model.OperationPending {
				t.Errorf("operation %+v", op)
			}
			op = model.Clone(op)
			op.Phase, op.Result = phase, text
			w.put(op)
		}
		go end(model.OperationFailed, "/dev/sdb has an ext4 signature")
		_, err := s.Create(w.ctx, r)
		refused(t, err, model.ErrBusy, "lvg n1/vg1: make it on /dev/sdb: /dev/sdb has an ext4 signature")

		go func() {
			end(model.OperationSucceeded, "")
			time.Sleep(time.Second)
			w.group("n1", "vg1", 100)
		}()
		got, err := s.Create(w.ctx, r)
		if err != nil || got.GetUuid() != "uuid-vg1" {
			t.Errorf("got %v, %v, want the group that was made", got, err)
		}
	})
}

func TestWaitingForAVolumeGroupEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("n1")
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		_, err := (&lvgs{api: w.api}).Create(ctx, &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg1", Device: "/dev/sdb"})
		refused(t, err, context.DeadlineExceeded, "repeat the command")
		go func() {
			time.Sleep(time.Second)
			close(w.lost)
		}()
		_, err = (&lvgs{api: w.api}).Create(w.ctx, &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg1", Device: "/dev/sdb"})
		refused(t, err, model.ErrUnavailable)
	})
}

func TestAnLVGThatHoldsSomethingIsNotTakenBack(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.offer("n1", "vg0", 100)
	res := &model.Reservation{OwnerKind: model.OwnerReplica, Owner: "db-1/0", Pool: model.PoolID{Node: "n1", VG: "uuid-vg0"}, VGName: "vg0", Granted: 2 * extent, State: model.Bound}
	res.Name = "r1"
	w.put(res)
	s := &lvgs{api: w.api}
	_, err := s.Delete(w.ctx, &adminv1.DeleteRequest{Name: "n1/vg0"})
	refused(t, err, model.ErrBusy, "it holds 8 MiB of replica db-1/0")
	list, err := s.List(w.ctx, &adminv1.ListRequest{Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	space := list.GetLvgs()[0].GetSpaces()[0]
	if space.GetReserved() != 2*extent || space.GetLimit() != 100*extent || space.GetFree() != 98*extent || len(space.GetReservations()) != 1 {
		t.Errorf("space %v", space)
	}
	w.offer("n1", "vg1", 100)
	if _, err := s.Delete(w.ctx, &adminv1.DeleteRequest{Name: "n1/vg1"}); err != nil {
		t.Fatal(err)
	}
	if _, there := get[*model.LVG](w, "n1/vg1"); there {
		t.Error("the LVG is still there")
	}
}

func TestThinPoolsTellHowFullTheyAre(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	w.group("n1", "vg0", 100)
	s := &lvgs{api: w.api}
	if _, err := s.Create(w.ctx, &adminv1.CreateLVGRequest{Node: "n1", Vg: "vg0"}); err != nil {
		t.Fatal(err)
	}
	w.report("n1", func(n *inventory.Node) {
		n.VGs = []inventory.VG{{Name: "vg0", UUID: "uuid-vg0", ThinPools: []inventory.ThinPool{{Name: "tp", UUID: "uuid-tp", DataPercent: 61.5, MetadataPercent: 7}}}}
	})
	got, err := s.Set(w.ctx, &adminv1.SetLVGRequest{Name: "n1/vg0", AddThinPools: []string{"tp"}})
	if err != nil {
		t.Fatal(err)
	}
	if tp := got.GetSpaces()[1]; tp.GetDataPercent() != 61.5 || tp.GetMetadataPercent() != 7 {
		t.Errorf("thin pool %v", tp)
	}
	w.inv.Reset()
	got, err = s.one("n1/vg0")
	if err != nil || got.GetSpaces()[1].DataPercent != nil {
		t.Errorf("without a report: %v, %v, want no percentages", got.GetSpaces()[1], err)
	}
}
