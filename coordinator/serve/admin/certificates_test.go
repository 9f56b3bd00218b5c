package admin

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/enroll"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// print is a fingerprint of 32 times the same byte.
func print(of string) string { return strings.Repeat(of, 32) }

func (w *world) recorded(name, subject, role string, expires time.Time) {
	w.t.Helper()
	_, err := (&certificates{api: w.api}).Record(w.ctx, &adminv1.RecordCertificateRequest{
		Name: name, Subject: subject, Role: role, ExpiresAt: timestamppb.New(expires),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestCertificatesOfPeopleAreListedAndRevoked(t *testing.T) {
	w := newWorld(t)
	w.node("n1")
	s := &certificates{api: w.api}
	w.recorded(print("a1"), "anna", "admin", time.Now().Add(time.Hour))
	w.recorded(print("b1"), "ben", "viewer", time.Now().Add(time.Hour))
	w.recorded(print("b2"), "ben", "operator", time.Now().Add(time.Hour))

	got, err := s.Revoke(w.ctx, &adminv1.RevokeCertificateRequest{Subject: "ben", Confirm: "ben", Reason: "left"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.GetCertificates()) != 2 || got.GetCertificates()[0].GetRevokedBy() != "admin/anna" || got.GetCertificates()[0].GetReason() != "left" {
		t.Errorf("revoked: %v", got)
	}
	known := func(name string, role identity.Role) error {
		var key identity.Fingerprint
		if err := key.UnmarshalText([]byte(name)); err != nil {
			t.Fatal(err)
		}
		return enroll.Known(w.Store.View(), key, identity.ID{Cluster: "test", Role: role, Name: "x"})
	}
	refused(t, known(print("b1"), identity.Viewer), identity.ErrUnknownKey, "by admin/anna")
	refused(t, known(print("b2"), identity.Operator), identity.ErrUnknownKey)
	if err := known(print("a1"), identity.Admin); err != nil {
		t.Errorf("another's: %v", err)
	}

	// One that nobody has heard of, because it was made without a leader.
	if _, err := s.Revoke(w.ctx, &adminv1.RevokeCertificateRequest{Name: print("c1"), Confirm: print("c1")}); err != nil {
		t.Fatal(err)
	}
	refused(t, known(print("c1"), identity.Admin), identity.ErrUnknownKey)

	list, err := s.List(w.ctx, &adminv1.ListRequest{})
	if err != nil || len(list.GetCertificates()) != 4 {
		t.Errorf("listed: %v, %v: want four, and no machine's", list, err)
	}
}

func TestWhatMayNotBeRevoked(t *testing.T) {
	w := newWorld(t)
	machine := &model.Identity{Kind: "agent", Subject: "n1"}
	machine.Name = print("d1")
	w.put(machine)
	w.recorded(print("a1"), "anna", "admin", time.Now().Add(time.Hour))
	own := door.From(w.ctx)
	if err := own.Key.UnmarshalText([]byte(print("a1"))); err != nil {
		t.Fatal(err)
	}
	ctx := door.With(w.ctx, own)
	for name, tc := range map[string]struct {
		ask  *adminv1.RevokeCertificateRequest
		is   error
		says string
	}{
		"nothing":          {&adminv1.RevokeCertificateRequest{}, model.ErrInvalid, "either"},
		"both":             {&adminv1.RevokeCertificateRequest{Name: "a", Subject: "b"}, model.ErrInvalid, "either"},
		"unconfirmed":      {&adminv1.RevokeCertificateRequest{Subject: "anna"}, model.ErrInvalid, "confirm"},
		"one's own":        {&adminv1.RevokeCertificateRequest{Subject: "anna", Confirm: "anna"}, model.ErrBusy, "you use"},
		"nobody's":         {&adminv1.RevokeCertificateRequest{Subject: "zoe", Confirm: "zoe"}, model.ErrNotFound, "on record"},
		"no fingerprint":   {&adminv1.RevokeCertificateRequest{Name: "b1", Confirm: "b1"}, model.ErrInvalid, "fingerprint"},
		"that of a node":   {&adminv1.RevokeCertificateRequest{Name: print("d1"), Confirm: print("d1")}, model.ErrInvalid, "key of agent n1"},
		"a machine's name": {&adminv1.RevokeCertificateRequest{Subject: "n1", Confirm: "n1"}, model.ErrNotFound, "on record"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := (&certificates{api: w.api}).Revoke(ctx, tc.ask)
			refused(t, err, tc.is, tc.says)
		})
	}
	_, err := (&certificates{api: w.api}).Record(w.ctx, &adminv1.RecordCertificateRequest{Name: print("d1"), Subject: "x", Role: "admin"})
	refused(t, err, model.ErrExists, "agent n1")
	_, err = (&certificates{api: w.api}).Record(w.ctx, &adminv1.RecordCertificateRequest{Name: print("e1"), Subject: "x", Role: "agent"})
	refused(t, err, model.ErrInvalid, "none of people")
}

func TestCertificatesThatLapsedLongAgoAreForgotten(t *testing.T) {
	w := newWorld(t)
	w.recorded(print("a1"), "anna", "admin", time.Now().Add(-31*24*time.Hour))
	w.recorded(print("a2"), "anna", "admin", time.Now().Add(-29*24*time.Hour))
	w.recorded(print("a3"), "anna", "admin", time.Now().Add(time.Hour))
	list, err := (&certificates{api: w.api}).List(w.ctx, &adminv1.ListRequest{})
	if err != nil || len(list.GetCertificates()) != 2 {
		t.Errorf("listed: %v, %v: want two", list, err)
	}
}

func TestAClockThatIsAheadGivesNoRevokedCertificateBack(t *testing.T) {
	w := newWorld(t)
	w.recorded(print("b1"), "ben", "viewer", time.Now().Add(time.Hour))
	if _, err := (&certificates{api: w.api}).Revoke(w.ctx, &adminv1.RevokeCertificateRequest{Subject: "ben", Confirm: "ben"}); err != nil {
		t.Fatal(err)
	}
	w.Clock = func() time.Time { return time.Now().Add(365 * 24 * time.Hour) }
	w.recorded(print("a1"), "anna", "admin", time.Now().Add(time.Hour))
	var key identity.Fingerprint
	if err := key.UnmarshalText([]byte(print("b1"))); err != nil {
		t.Fatal(err)
	}
	refused(t, enroll.Known(w.Store.View(), key, identity.ID{Cluster: "test", Role: identity.Viewer, Name: "ben"}), identity.ErrUnknownKey)
}
