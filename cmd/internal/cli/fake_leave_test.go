package cli_test

import (
	"context"

	adminv1 "rvol/proto/admin/v1"
)

func (c fakeNodes) Drain(_ context.Context, r *adminv1.DrainNodeRequest) (*adminv1.DrainNodeResponse, error) {
	n, err := find("node", c.f.world.nodes, r.GetName())
	if err != nil || r.GetCancel() {
		return &adminv1.DrainNodeResponse{Node: n}, err
	}
	return &adminv1.DrainNodeResponse{
		Node:  n,
		Begun: []*adminv1.NodeReplica{{Name: "db-2/0", Message: "replace db-2/0 on n2: Synchronize, 40 % copied"}},
		Left:  []*adminv1.NodeReplica{{Name: "db-1/1", Message: "the volume is used there: detach it first"}},
	}, nil
}

func (c fakeNodes) Lost(_ context.Context, r *adminv1.FenceNodeRequest) (*adminv1.LostNodeResponse, error) {
	n, err := find("node", c.f.world.nodes, r.GetName())
	if err != nil {
		return nil, err
	}
	return &adminv1.LostNodeResponse{
		Node: n, GivenUp: []string{"db-2/0"}, Kept: []*adminv1.NodeReplica{{Name: "db-1/1", Message: "no other copy is known to be UpToDate"}},
	}, nil
}

func (c fakeReplicas) Retry(context.Context, *adminv1.RetryRequest) (*adminv1.Done, error) {
	return &adminv1.Done{Revision: 99, Message: "is tried again"}, nil
}
