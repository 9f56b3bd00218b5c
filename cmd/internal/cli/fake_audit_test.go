package cli_test

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"

	adminv1 "rvol/proto/admin/v1"
)

type fakeCertificates struct {
	adminv1.UnimplementedCertificatesServer
}

func sampleCertificates() []*adminv1.Certificate {
	return []*adminv1.Certificate{
		{Meta: newMeta(strings.Repeat("a1", 32)), Subject: "anna", Role: "admin", ExpiresAt: at(-90 * minute)},
		{Meta: newMeta(strings.Repeat("b2", 32)), Subject: "ben", Role: "viewer", ExpiresAt: at(-90 * minute), RevokedAt: at(5 * minute), RevokedBy: "admin/anna", Reason: "left"},
		{Meta: newMeta(strings.Repeat("c3", 32)), Subject: "cleo", Role: "operator", ExpiresAt: at(minute)},
	}
}

func (fakeCertificates) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListCertificatesResponse, error) {
	return &adminv1.ListCertificatesResponse{Certificates: pick(q, sampleCertificates())}, nil
}

func (fakeCertificates) Revoke(_ context.Context, r *adminv1.RevokeCertificateRequest) (*adminv1.ListCertificatesResponse, error) {
	return &adminv1.ListCertificatesResponse{Certificates: slices.DeleteFunc(sampleCertificates(), func(c *adminv1.Certificate) bool {
		return c.GetSubject() != r.GetSubject() && c.GetMeta().GetName() != r.GetName()
	})}, nil
}

type fakeAudit struct {
	adminv1.UnimplementedAuditServer
	f *fake
}

func (fakeAudit) Entries(_ *adminv1.AuditEntriesRequest, stream grpc.ServerStreamingServer[adminv1.AuditEntry]) error {
	for _, e := range []*adminv1.AuditEntry{
		{Index: 7, Time: at(90 * minute), Actor: "admin/anna", Cause: "make volume db-1", Objects: []string{"volume/db-1"}, Line: `{"index":7}`},
		{Index: 8, Time: at(89 * minute), Actor: "admin/ben", Cause: "make volume db-2", Objects: []string{"volume/db-2"}, Refused: "quota/team-a: 1 GiB more asked", Line: `{"index":8}`},
	} {
		if err := stream.Send(e); err != nil {
			return err
		}
	}
	return nil
}

func (a fakeAudit) Verify(context.Context, *adminv1.AuditVerifyRequest) (*adminv1.AuditReport, error) {
	if a.f.world.cluster.GetReconciling() {
		return &adminv1.AuditReport{Coordinator: "c1", Finding: "verify audit trail: the header of transaction 0 at index 7 was altered"}, nil
	}
	return &adminv1.AuditReport{Coordinator: "c1", Headers: 12, First: 3, Last: 14, Chain: "0f3a", Gaps: []uint64{9}}, nil
}
