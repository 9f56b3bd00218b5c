package cli_test

import (
	"context"

	"google.golang.org/protobuf/proto"

	adminv1 "rvol/proto/admin/v1"
)

type fakeQuotas struct {
	adminv1.UnimplementedQuotasServer
}

func sampleQuotas() []*adminv1.Quota {
	return []*adminv1.Quota{
		{Meta: newMeta("everybody"), Volumes: proto.Int32(500), UsedBytes: 5 << 40, UsedVolumes: 120},
		{Meta: newMeta("team-a"), Selector: "team=a", Bytes: proto.Int64(2 << 40), Volumes: proto.Int32(50), UsedBytes: 3 << 39, UsedVolumes: 12},
	}
}

func (fakeQuotas) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListQuotasResponse, error) {
	return &adminv1.ListQuotasResponse{Quotas: pick(q, sampleQuotas())}, nil
}

func (fakeQuotas) Create(_ context.Context, r *adminv1.Quota) (*adminv1.Quota, error) {
	r.UsedBytes, r.UsedVolumes = 3<<39, 12
	return r, nil
}

func (fakeQuotas) Set(_ context.Context, r *adminv1.SetQuotaRequest) (*adminv1.Quota, error) {
	q, err := find("quota", sampleQuotas(), r.GetName())
	if err == nil && r.Bytes != nil {
		q.Bytes = r.Bytes
	}
	return q, err
}

func (fakeQuotas) Delete(_ context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	_, err := find("quota", sampleQuotas(), r.GetName())
	return &adminv1.Done{Revision: 99}, err
}
