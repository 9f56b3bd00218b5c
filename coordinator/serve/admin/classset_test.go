package admin

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// own makes class gold with storage of its own.
func (w *world) own() *classes {
	w.t.Helper()
	s := &classes{api: w.api}
	_, err := s.Create(w.ctx, &adminv1.Class{
		Meta: named("gold"), Ftt: 1, Gmdr: 1, Storage: lvmOn("vg0", "vg1"), Zones: []string{"z1", "z2"}, NodeSelector: "rack=a", Topology: "Zonal",
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestWhatNeverChangesIsNamed(t *testing.T) {
	for _, tc := range []struct {
		r    *adminv1.SetClassRequest
		says string
	}{
		{&adminv1.SetClassRequest{Topology: new("TransZonal")}, "topology never changes, for replicas were placed by it: it is Zonal, asked was TransZonal"},
		{&adminv1.SetClassRequest{VolumeAccess: new("Any")}, "volume_access never changes, for replicas were placed by it: it is PreferablyLocal, asked was Any"},
		{&adminv1.SetClassRequest{Pool: new("fast")}, "pool never changes, for replicas were placed by it: it is none, asked was fast"},
		{&adminv1.SetClassRequest{Storage: lvmOn("vg0")}, "storage never changes, for replicas were placed by it: it is LVM vg0,vg1, asked was LVM vg0"},
		{&adminv1.SetClassRequest{Zones: []string{"z1"}}, "zones never changes, for replicas were placed by it: it is z1,z2, asked was z1"},
		{&adminv1.SetClassRequest{NodeSelector: new("rack=b")}, "node_selector never changes, for replicas were placed by it: it is rack=a, asked was rack=b"},
		{&adminv1.SetClassRequest{SystemNetworks: []string{"fast"}}, "system_networks never changes, for replicas were placed by it: it is default, asked was fast"},
		{&adminv1.SetClassRequest{NotReadyGrace: durationpb.New(time.Hour)}, "not_ready_grace never changes, for replicas were placed by it: it is 10m, asked was 1h"},
		{&adminv1.SetClassRequest{OwnStorage: true}, "storage of its own already"},
	} {
		t.Run(strings.Fields(tc.says)[0], func(t *testing.T) {
			w := newWorld(t)
			s := w.own()
			tc.r.Name = "gold"
			_, err := s.Set(w.ctx, tc.r)
			refused(t, err, model.ErrInvalid, "class gold: ", tc.says)
		})
	}
}

func TestAskingForWhatIsSoWritesNothing(t *testing.T) {
	w := newWorld(t)
	s := w.own()
	before := w.Store.View().Index()
	_, err := s.Set(w.ctx, &adminv1.SetClassRequest{Name: "gold", Storage: lvmOn("vg1", "vg0"), Zones: []string{"z2", "z1"}, Topology: new("Zonal"), Ftt: new(int32(1))})
	if err != nil || w.Store.View().Index() != before {
		t.Errorf("%v, %d entries", err, w.Store.View().Index()-before)
	}
}

func TestOnlyPolicyMakesANewGeneration(t *testing.T) {
	w := newWorld(t)
	s := w.own()
	for _, tc := range []struct {
		r    *adminv1.SetClassRequest
		want int64
	}{
		{&adminv1.SetClassRequest{Labels: &adminv1.LabelChange{Set: map[string]string{"a": "b"}}}, 1},
		{&adminv1.SetClassRequest{Replication: new("Availability")}, 2},
		{&adminv1.SetClassRequest{TrustZeroed: new(true)}, 3},
		{&adminv1.SetClassRequest{Drbd: map[string]string{"ping-int": "5"}}, 4},
		{&adminv1.SetClassRequest{Drbd: map[string]string{"ping-int": ""}}, 5},
	} {
		tc.r.Name = "gold"
		if _, err := s.Set(w.ctx, tc.r); err != nil {
			t.Fatal(err)
		}
		if c, _ := get[*model.Class](w, "gold"); c.Generation != tc.want {
			t.Errorf("%v: generation %d, want %d", tc.r, c.Generation, tc.want)
		}
	}
	c, _ := get[*model.Class](w, "gold")
	if c.FTT != 1 || c.GMDR != 0 || !c.TrustZeroed || len(c.DRBD) != 0 || c.Labels["a"] != "b" {
		t.Errorf("stored is %+v", c)
	}
	_, err := s.Set(w.ctx, &adminv1.SetClassRequest{Name: "gold", Replication: new("None"), Ftt: new(int32(1))})
	refused(t, err, model.ErrInvalid, "the one or the other")
}

func TestAClassTakesOverWhatItsPoolIsMadeOf(t *testing.T) {
	w := newWorld(t)
	ps := &pools{api: w.api}
	if _, err := ps.Create(w.ctx, &adminv1.Pool{Meta: named("fast"), Storage: lvmOn("vg0"), Zones: []string{"z1"}, NotReadyGrace: durationpb.New(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	s := &classes{api: w.api}
	if _, err := s.Create(w.ctx, &adminv1.Class{Meta: named("gold"), Gmdr: 1, Pool: "fast"}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Set(w.ctx, &adminv1.SetClassRequest{Name: "gold", Storage: lvmOn("vg1")})
	refused(t, err, model.ErrInvalid, "storage never changes, for replicas were placed by it: it is LVM vg0, asked was LVM vg1")
	_, err = ps.Delete(w.ctx, &adminv1.DeleteRequest{Name: "fast"})
	refused(t, err, model.ErrBusy, "used by class gold")
	if _, err := s.Set(w.ctx, &adminv1.SetClassRequest{Name: "gold", OwnStorage: true}); err != nil {
		t.Fatal(err)
	}
	c, _ := get[*model.Class](w, "gold")
	if c.Pool != "" || c.Storage == nil || c.Storage.VGs[0] != "vg0" || c.Zones[0] != "z1" || c.NotReadyGrace != time.Minute || c.SystemNetworks[0] != "default" || c.Generation != 2 {
		t.Errorf("stored is %+v", c)
	}
	if _, err := ps.Delete(w.ctx, &adminv1.DeleteRequest{Name: "fast"}); err != nil {
		t.Error(err)
	}
}

func TestADeletedClassIsMarkedAndWaitedFor(t *testing.T) {
	w := newWorld(t)
	s := w.own()
	marked := make(chan *model.Class, 1)
	defer w.Store.Watch(func(uint64, []model.Key) {
		if c, ok := get[*model.Class](w, "gold"); ok && c.Deleting() {
			marked <- c
		}
	})()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	go func() {
		txn, _ := state.NewTxn("controller/class", "release").Delete(<-marked).Txn() // as the controller does
		_, _ = w.Propose(ctx, txn)                                                   // else the call times out
	}()
	if _, err := s.Delete(ctx, &adminv1.DeleteRequest{Name: "gold"}); err != nil {
		t.Fatal(err)
	}
	if _, there := get[*model.Class](w, "gold"); there {
		t.Error("it is still there")
	}
}

func TestNothingIsMadeFromAClassThatGoes(t *testing.T) {
	w := newWorld(t)
	s := w.own()
	c, _ := get[*model.Class](w, "gold")
	c = model.Clone(c)
	c.DeletingSince = time.Now()
	w.put(c)
	_, err := s.Set(w.ctx, &adminv1.SetClassRequest{Name: "gold", Ftt: new(int32(0))})
	refused(t, err, model.ErrBusy, "being deleted")
	_, err = s.Create(w.ctx, &adminv1.Class{Meta: named("gold"), Storage: lvmOn("vg0")})
	refused(t, err, model.ErrExists, "is being deleted")
	_, err = (&volumes{api: w.api}).Create(w.ctx, &adminv1.CreateVolumeRequest{Name: "v", Class: "gold", Sizes: []int64{4096}})
	refused(t, err, model.ErrBusy, "being deleted")
}

func TestARefusedDeletionNamesTheVolumes(t *testing.T) {
	w := newWorld(t)
	w.class()
	for i := range 22 {
		w.formed("db-" + string(rune('a'+i)))
	}
	_, err := (&classes{api: w.api}).Delete(w.ctx, &adminv1.DeleteRequest{Name: "r2"})
	refused(t, err, model.ErrBusy, "class r2: used by volume db-a, volume db-b, ", "volume db-t, 2 more")
}

func TestAPoolKeepsWhatItIsMadeOf(t *testing.T) {
	w := newWorld(t)
	s := &pools{api: w.api}
	if _, err := s.Create(w.ctx, &adminv1.Pool{Meta: named("fast"), Storage: lvmOn("vg0")}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Set(w.ctx, &adminv1.SetPoolRequest{Name: "fast", Labels: &adminv1.LabelChange{Set: map[string]string{"tier": "1"}}})
	if err != nil || got.GetMeta().GetLabels()["tier"] != "1" || got.GetMeta().GetGeneration() != 1 {
		t.Errorf("%v, %v", got, err)
	}
	generated := &model.Pool{Generated: true}
	generated.Name = "auto-1"
	w.put(generated)
	_, err = s.Set(w.ctx, &adminv1.SetPoolRequest{Name: "auto-1", Labels: &adminv1.LabelChange{Set: map[string]string{"tier": "1"}}})
	refused(t, err, model.ErrInvalid, "made from a class")
	_, err = (&classes{api: w.api}).Create(w.ctx, &adminv1.Class{Meta: named("c"), Pool: "auto-1"})
	refused(t, err, model.ErrInvalid, "goes with it")
}
