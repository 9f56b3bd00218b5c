package admin

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/durationpb"

	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
)

func lvmOn(vgs ...string) *adminv1.Storage { return &adminv1.Storage{Type: "LVM", Vgs: vgs} }

func named(name string) *adminv1.Meta { return &adminv1.Meta{Name: name} }

func TestAClassIsWrittenDownWithItsDefaults(t *testing.T) {
	w := newWorld(t)
	got, err := (&classes{api: w.api}).Create(w.ctx, &adminv1.Class{Meta: named("r2"), Replication: "Availability", Storage: lvmOn("vg0")})
	if err != nil {
		t.Fatal(err)
	}
	stored, _ := get[*model.Class](w, "r2")
	want := &model.Class{
		FTT: 1, Topology: model.TopologyIgnored, VolumeAccess: model.AccessPreferablyLocal,
		Storage: &model.Storage{Type: model.LVM, VGs: []string{"vg0"}}, SystemNetworks: []string{"default"},
		NotReadyGrace: 10 * time.Minute, Rollout: "RollingUpdate", RolloutMax: 5, Conflict: "RollingRepair", ConflictMax: 5,
		RepairAfter: time.Hour, OnNoQuorum: "suspend-io", Wipe: "none",
	}
	if diff := cmp.Diff(want, stored, cmpopts.IgnoreFields(model.Class{}, "Meta")); diff != "" {
		t.Error(diff)
	}
	if got.GetLayout() != "2D+1TB" || got.GetReplication() != "Availability" {
		t.Errorf("answer %v", got)
	}
}

func TestWhatIsNoClassIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name string
		r    *adminv1.Class
		kind error
		says string
	}{
		{"FTT 3", &adminv1.Class{Ftt: 3, Storage: lvmOn("vg0")}, model.ErrInvalid, "FTT is 3"},
		{"FTT and GMDR too far apart", &adminv1.Class{Ftt: 2, Storage: lvmOn("vg0")}, model.ErrInvalid, "differ by at most 1"},
		{"both names for the same", &adminv1.Class{Ftt: 1, Replication: "None", Storage: lvmOn("vg0")}, model.ErrInvalid, "the one or the other"},
		{"an unknown replication", &adminv1.Class{Replication: "Triple", Storage: lvmOn("vg0")}, model.ErrInvalid, `"Triple"`},
		{"one copy over zones", &adminv1.Class{Topology: "TransZonal", Storage: lvmOn("vg0")}, model.ErrInvalid, "single copy"},
		{"an unknown topology", &adminv1.Class{Topology: "Round", Storage: lvmOn("vg0")}, model.ErrInvalid, `"Round"`},
		{"no storage", &adminv1.Class{}, model.ErrInvalid, "name a pool"},
		{"a pool and storage", &adminv1.Class{Pool: "p", Storage: lvmOn("vg0")}, model.ErrInvalid, "one of the two"},
		{"an unknown pool", &adminv1.Class{Pool: "p9"}, model.ErrNotFound, "pool p9: not found"},
		{"thin without a pool", &adminv1.Class{Storage: &adminv1.Storage{Type: "LVMThin", Vgs: []string{"vg0"}}}, model.ErrInvalid, "thin pool"},
		{"thick with a thin pool", &adminv1.Class{Storage: &adminv1.Storage{Type: "LVM", Vgs: []string{"vg0"}, ThinPool: "tp"}}, model.ErrInvalid, "no thin pool"},
		{"another kind of storage", &adminv1.Class{Storage: &adminv1.Storage{Type: "ZFS", Vgs: []string{"vg0"}}}, model.ErrInvalid, `"ZFS"`},
		{"no group", &adminv1.Class{Storage: lvmOn()}, model.ErrInvalid, "name its volume groups"},
		{"a group twice", &adminv1.Class{Storage: lvmOn("a", "a")}, model.ErrInvalid, "named twice"},
		{"a negative grace", &adminv1.Class{Storage: lvmOn("vg0"), NotReadyGrace: durationpb.New(-time.Second)}, model.ErrInvalid, "not negative"},
		{"an unknown access", &adminv1.Class{Storage: lvmOn("vg0"), VolumeAccess: "Nobody"}, model.ErrInvalid, `"Nobody"`},
		{"a selector cut short", &adminv1.Class{Storage: lvmOn("vg0"), NodeSelector: "a in ("}, model.ErrInvalid, "selector of nodes"},
		{"two hundred and one at a time", &adminv1.Class{Storage: lvmOn("vg0"), RolloutMaxParallel: 201}, model.ErrInvalid, "1 to 200"},
		{"an option that is ours", &adminv1.Class{Storage: lvmOn("vg0"), Drbd: map[string]string{"auto-promote": "yes"}}, model.ErrInvalid, "auto-promote"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			tc.r.Meta = named("r2")
			_, err := (&classes{api: w.api}).Create(w.ctx, tc.r)
			refused(t, err, tc.kind, tc.says)
		})
	}
}

func TestAClassIsChangedInWhatMayChange(t *testing.T) {
	w := newWorld(t)
	w.class()
	s, one, wipe := &classes{api: w.api}, int32(1), "zero"
	got, err := s.Set(w.ctx, &adminv1.SetClassRequest{Name: "r2", Gmdr: &one, Wipe: &wipe, Drbd: map[string]string{"c-max-rate": "100M"}, RepairAfter: durationpb.New(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	if got.GetFtt() != 1 || got.GetGmdr() != 1 || got.GetWipe() != "zero" || got.GetDrbd()["c-max-rate"] != "100M" || got.GetRepairAfter().AsDuration() != time.Minute {
		t.Errorf("got %v", got)
	}
	three := int32(3)
	_, err = s.Set(w.ctx, &adminv1.SetClassRequest{Name: "r2", Gmdr: &three})
	refused(t, err, model.ErrInvalid, "GMDR is 3")
	_, err = s.Set(w.ctx, &adminv1.SetClassRequest{Name: "r9"})
	refused(t, err, model.ErrNotFound, "class r9")
}

func TestWhatIsUsedIsNotDeleted(t *testing.T) {
	w := newWorld(t)
	w.class()
	w.formed("db-1")
	_, err := (&classes{api: w.api}).Delete(w.ctx, &adminv1.DeleteRequest{Name: "r2"})
	refused(t, err, model.ErrBusy, "used by volume db-1")
	_, err = (&pools{api: w.api}).Delete(w.ctx, &adminv1.DeleteRequest{Name: "p"})
	refused(t, err, model.ErrBusy, "used by class r2")
	_, err = (&pools{api: w.api}).Delete(w.ctx, &adminv1.DeleteRequest{Name: "p9"})
	refused(t, err, model.ErrNotFound, "pool p9")
}

func TestPools(t *testing.T) {
	w := newWorld(t)
	s := &pools{api: w.api}
	got, err := s.Create(w.ctx, &adminv1.Pool{Meta: named("fast"), Storage: &adminv1.Storage{Type: "LVMThin", Selector: "disk=ssd", ThinPool: "tp"}})
	if err != nil {
		t.Fatal(err)
	}
	if got.GetNotReadyGrace().AsDuration() != 10*time.Minute || got.GetSystemNetworks()[0] != "default" || got.GetConditions()[0].GetStatus() != "Unknown" {
		t.Errorf("got %v", got)
	}
	_, err = s.Create(w.ctx, &adminv1.Pool{Meta: named("fast"), Storage: lvmOn("vg0")})
	refused(t, err, model.ErrExists, "pool fast: exists already")
	_, err = s.Create(w.ctx, &adminv1.Pool{Meta: named("auto-x"), Storage: lvmOn("vg0")})
	refused(t, err, model.ErrInvalid, "auto-")
	if _, err := s.Delete(w.ctx, &adminv1.DeleteRequest{Name: "fast"}); err != nil {
		t.Error(err)
	}
}
