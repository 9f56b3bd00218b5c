package cli_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "rvol/proto/admin/v1"
)

func (c fakeCluster) Reconcile(_ context.Context, r *adminv1.ReconcileRequest) (*adminv1.Reconciliation, error) {
	out := &adminv1.Reconciliation{
		Reconciling: true, Restored: "restored by admin/anna from a snapshot of index 12", Incarnation: 2, Digest: "d1",
		Nodes: []*adminv1.ReconcileNode{
			{Name: "n1", State: "reported"}, {Name: "n2", State: "waiting", Message: "its agent is not connected"},
		},
		Differences: []*adminv1.StateDifference{{
			Kind: "unknown-lv", Node: "n1", Volume: "db-9", Object: "vg0/rvol-db-9.0.0", Message: "an LV that no reservation has", Then: "it is kept and reported",
		}},
	}
	if len(r.GetSetAside()) > 0 {
		out.Nodes[1].State = "set-aside"
	}
	if r.GetAccept() {
		out.Reconciling, out.Revision = false, 99
	}
	return out, nil
}

func (c fakeCluster) Check(context.Context, *adminv1.ClusterCheckRequest) (*adminv1.ClusterCheck, error) {
	return &adminv1.ClusterCheck{
		Invariants: []*adminv1.Invariant{
			{Id: "I7", Says: "leftovers go", Status: "False", Findings: []string{"vg0/rvol-db-9.0.0 on n1: an LV that no reservation has"}},
			{Id: "I9", Says: "revisions that agents took never decrease", Status: "Unknown", Findings: []string{"node n2: its agent is not connected"}},
		},
		Unknown: []string{"n2: its agent is not connected"},
	}, nil
}

type fakeOrphans struct {
	adminv1.UnimplementedOrphansServer
}

func (fakeOrphans) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListOrphansResponse, error) {
	all := []*adminv1.Orphan{
		{
			Meta: &adminv1.Meta{Name: "n1/vg0/rvol-db-9.0.0"}, Node: "n1", Kind: "lv", Volume: "db-9", Size: 36 << 20, LvUuid: "u1", Reservation: "r1",
			State: "reported", InUse: "DRBD is Primary", Adoptable: true,
		},
		{Meta: &adminv1.Meta{Name: "n2/rvol-db-9"}, Node: "n2", Kind: "resource", Volume: "db-9", State: "reported"},
		{
			Meta: &adminv1.Meta{Name: "n3/vg0/rvol-db-5.0.0"}, Node: "n3", Kind: "lv", Volume: "db-5", Size: 36 << 20, State: "waiting", Leftover: true,
			Since: timestamppb.New(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)), Why: "the next 5 go at 2026-11-21T11:00:00Z at the earliest",
		},
	}
	return &adminv1.ListOrphansResponse{Orphans: pick(q, all)}, nil
}

func (fakeOrphans) Keep(context.Context, *adminv1.KeepOrphanRequest) (*adminv1.Done, error) {
	return &adminv1.Done{Revision: 99}, nil
}

func (fakeOrphans) RemoveLeftovers(_ context.Context, r *adminv1.RemoveLeftoversRequest) (*adminv1.Done, error) {
	return &adminv1.Done{Revision: 99, Message: fmt.Sprintf("leftovers that are removed at once: %d", len(r.GetNames()))}, nil
}

func (fakeOrphans) Remove(context.Context, *adminv1.DeleteRequest) (*adminv1.Done, error) {
	return &adminv1.Done{Revision: 99, Message: "its node removes it"}, nil
}
