package admin

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

const gib = int64(1 << 30)

func TestQuotasRefuseGrowthOnly(t *testing.T) {
	w := newWorld(t)
	s, vols := &quotas{api: w.api}, &volumes{api: w.api}
	w.class("n1", "n2")
	make := func(name, team string) error {
		_, err := vols.Create(w.ctx, &adminv1.CreateVolumeRequest{Name: name, Class: "r2", Sizes: []int64{gib}, Labels: map[string]string{"team": team}})
		return err
	}
	if err := make("v1", "a"); err != nil {
		t.Fatal(err)
	}
	made, err := s.Create(w.ctx, &adminv1.Quota{Meta: &adminv1.Meta{Name: "q"}, Selector: "team=a", Bytes: new(gib), Volumes: proto.Int32(9)})
	if err != nil {
		t.Fatal(err)
	}
	want := &adminv1.Quota{
		Meta: made.GetMeta(), Selector: "team=a", Bytes: new(gib), Volumes: proto.Int32(9), UsedBytes: gib, UsedVolumes: 1,
	}
	if diff := cmp.Diff(want, made, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	refused(t, make("v2", "a"), model.ErrQuota, "quota/q", "1 GiB more asked, 0 bytes left", "limit 1 GiB, used 1 GiB")
	if err := make("v3", "b"); err != nil {
		t.Errorf("of another team: %v", err)
	}
	_, err = vols.Set(w.ctx, &adminv1.SetVolumeRequest{Name: "v3", Labels: &adminv1.LabelChange{Set: map[string]string{"team": "a"}}})
	refused(t, err, model.ErrQuota, "quota/q")

	if _, err := s.Set(w.ctx, &adminv1.SetQuotaRequest{Name: "q", Bytes: proto.Int64(-1), Volumes: proto.Int32(1)}); err != nil {
		t.Fatal(err)
	}
	refused(t, make("v2", "a"), model.ErrQuota, "1 volume more asked, 0 volumes left")
	_, err = s.Set(w.ctx, &adminv1.SetQuotaRequest{Name: "q", Volumes: proto.Int32(-1)})
	refused(t, err, model.ErrInvalid, "limits nothing")
	if _, err := s.Delete(w.ctx, &adminv1.DeleteRequest{Name: "q"}); err != nil {
		t.Fatal(err)
	}
	if err := make("v2", "a"); err != nil {
		t.Errorf("without a quota: %v", err)
	}
}

func TestQuotasThatMakeNoSense(t *testing.T) {
	w := newWorld(t)
	s := &quotas{api: w.api}
	if _, err := s.Create(w.ctx, &adminv1.Quota{Meta: &adminv1.Meta{Name: "there"}, Volumes: proto.Int32(0)}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		quota *adminv1.Quota
		as    context.Context
		is    error
		says  string
	}{
		"a name":           {&adminv1.Quota{Meta: &adminv1.Meta{Name: "Team A"}, Volumes: proto.Int32(1)}, w.ctx, model.ErrInvalid, `"Team A"`},
		"no limit":         {&adminv1.Quota{Meta: &adminv1.Meta{Name: "q"}}, w.ctx, model.ErrInvalid, "limits nothing"},
		"a negative limit": {&adminv1.Quota{Meta: &adminv1.Meta{Name: "q"}, Bytes: proto.Int64(-1)}, w.ctx, model.ErrInvalid, "negative"},
		"a selector":       {&adminv1.Quota{Meta: &adminv1.Meta{Name: "q"}, Selector: "a in", Volumes: proto.Int32(1)}, w.ctx, model.ErrInvalid, "selector of volumes"},
		"one that is there": {
			&adminv1.Quota{Meta: &adminv1.Meta{Name: "there"}, Volumes: proto.Int32(1)}, w.ctx, model.ErrExists, "exists",
		},
		"an operator": {
			&adminv1.Quota{Meta: &adminv1.Meta{Name: "q"}, Volumes: proto.Int32(1)}, w.as(identity.Operator, ""), model.ErrForbidden, "for admins",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Create(tc.as, tc.quota)
			refused(t, err, tc.is, tc.says)
		})
	}
}

// TestAnOperatorCannotLiftAQuotaByAFile holds that a file is no way around who may change quotas.
func TestAnOperatorCannotLiftAQuotaByAFile(t *testing.T) {
	w := newWorld(t)
	s := &objects{api: w.api}
	file := func(limit int32) *adminv1.ApplyRequest {
		return &adminv1.ApplyRequest{Objects: []*adminv1.Wanted{
			given("q", &adminv1.QuotaSpec{Selector: "team=a", Volumes: new(limit)}, "selector", "volumes"),
		}}
	}
	done, err := s.Apply(w.ctx, file(1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"quota q created"}, results(done)); diff != "" {
		t.Error(diff)
	}
	_, err = s.Apply(w.as(identity.Operator, ""), file(99))
	refused(t, err, model.ErrForbidden, "for admins")

	done, err = s.Apply(w.ctx, file(2))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*adminv1.Difference{{Field: "volumes", From: "1", To: "2"}}, done.GetApplied()[0].GetDifferences(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	out, err := s.Export(w.ctx, &adminv1.ExportRequest{Kinds: []string{"quota"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []*adminv1.Spec{{Name: "q", Object: &adminv1.Spec_Quota{Quota: &adminv1.QuotaSpec{Selector: "team=a", Volumes: proto.Int32(2)}}}}
	if diff := cmp.Diff(want, out.GetObjects(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}
