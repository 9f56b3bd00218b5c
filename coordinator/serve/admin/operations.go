package admin

import (
	"context"

	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
)

type operations struct {
	adminv1.UnimplementedOperationsServer
	*api
}

// List tells of one-off commands how far they have come.
func (s *operations) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListOperationsResponse, error) {
	picked, err := pick[*model.Operation](s.Store.View(), q)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListOperationsResponse{}
	for _, o := range picked {
		if on(q, o.Node, o.Volume) {
			out.Operations = append(out.Operations, &adminv1.Operation{
				Meta: meta(&o.Meta), Type: o.Type, Node: o.Node, Volume: o.Volume, Replica: int32(o.Replica),
				Phase: string(o.Phase), Result: o.Result, DoneAt: timestamp(o.DoneAt),
			})
		}
	}
	return out, nil
}
