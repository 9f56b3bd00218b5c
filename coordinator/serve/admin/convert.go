package admin

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
)

func meta(m *model.Meta) *adminv1.Meta {
	return &adminv1.Meta{
		Name: m.Name, Uid: m.UID, Generation: m.Generation, Revision: m.Revision,
		CreatedAt: timestamp(m.CreatedAt), DeletingSince: timestamp(m.DeletingSince),
		Labels: m.Labels, Properties: m.Properties,
	}
}

// timestamp is nil for the zero time: it did not happen.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func duration(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func conditions(cs []model.Condition) []*adminv1.Condition {
	var out []*adminv1.Condition
	for _, c := range cs {
		out = append(out, condition(c))
	}
	return out
}

func condition(c model.Condition) *adminv1.Condition {
	return &adminv1.Condition{
		Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message,
		ObservedGeneration: c.ObservedGeneration, LastTransition: timestamp(c.LastTransition),
	}
}

func optional32(n *int) *int32 {
	if n == nil {
		return nil
	}
	m := int32(*n)
	return &m
}
