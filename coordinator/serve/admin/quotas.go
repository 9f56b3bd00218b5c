package admin

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

type quotas struct {
	adminv1.UnimplementedQuotasServer
	*api
}

// List tells of quotas what they allow and what is used.
func (s *quotas) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListQuotasResponse, error) {
	v := s.Store.View()
	picked, err := pick[*model.Quota](v, q)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListQuotasResponse{}
	for _, o := range picked {
		out.Quotas = append(out.Quotas, quotaOf(v, o))
	}
	return out, nil
}

func quotaOf(v state.View, q *model.Quota) *adminv1.Quota {
	s, used := quotaSpec(q), v.Usage(q.Name)
	return &adminv1.Quota{
		Meta: meta(&q.Meta), Selector: q.Selector, Bytes: s.Bytes, Volumes: s.Volumes,
		UsedBytes: used.Bytes, UsedVolumes: int32(used.Volumes),
	}
}

// Create makes a quota. One that is exceeded already refuses growth only.
func (s *quotas) Create(ctx context.Context, r *adminv1.Quota) (*adminv1.Quota, error) {
	m := r.GetMeta()
	spec := &adminv1.QuotaSpec{
		Labels: m.GetLabels(), Properties: m.GetProperties(), Selector: r.GetSelector(), Bytes: r.Bytes, Volumes: r.Volumes,
	}
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		if old, ok := state.Get[*model.Quota](v, m.GetName()); ok {
			return nil, door.Refuse(model.ErrExists, old.Key(), "exists already", "change it with `rvol quota set`")
		}
		p, err := planQuota(ctx, v, m.GetName(), spec, nil)
		if err != nil {
			return nil, err
		}
		return b.Because(p.cause()).Put(p.object), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(m.GetName())
}

func (s *quotas) one(name string) (*adminv1.Quota, error) {
	v := s.Store.View()
	q, err := find[*model.Quota](v, name)
	if err != nil {
		return nil, err
	}
	return quotaOf(v, q), nil
}

// Set changes what a quota counts and allows. A limit below what is used refuses growth only.
func (s *quotas) Set(ctx context.Context, r *adminv1.SetQuotaRequest) (*adminv1.Quota, error) {
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		old, err := find[*model.Quota](v, r.GetName())
		if err != nil {
			return nil, err
		}
		wanted, given, err := quotaChange(old, r)
		if err != nil {
			return nil, err
		}
		p, err := planQuota(ctx, v, old.Name, wanted, given)
		if err != nil || p.result() == unchanged {
			return nil, err
		}
		return b.Because(p.cause()).Put(p.object), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(r.GetName())
}

// quotaChange is what a request sets, and the names of it.
func quotaChange(old *model.Quota, r *adminv1.SetQuotaRequest) (wanted *adminv1.QuotaSpec, given []string, err error) {
	wanted = &adminv1.QuotaSpec{Selector: r.GetSelector()}
	if r.Selector != nil {
		given = append(given, "selector")
	}
	if r.Bytes != nil {
		given = append(given, "bytes")
		if r.GetBytes() >= 0 {
			wanted.Bytes = r.Bytes
		}
	}
	if r.Volumes != nil {
		given = append(given, "volumes")
		if r.GetVolumes() >= 0 {
			wanted.Volumes = r.Volumes
		}
	}
	if r.GetLabels() != nil {
		given = append(given, "labels")
		wanted.Labels, err = relabel(old.Labels, r.GetLabels())
	}
	return wanted, given, invalid(old.Key(), err)
}

// planQuota works out what a quota is to be: a new one, or one of which the given fields change.
func planQuota(ctx context.Context, v state.View, name string, r *adminv1.QuotaSpec, given []string) (plan, error) {
	key := model.Key{Kind: model.KindQuota, Name: name}
	if c := door.From(ctx); c.ID.Role != identity.Admin {
		return plan{}, door.Refuse(model.ErrForbidden, key, c.Actor()+" may not change quotas, which are for admins", "ask an admin")
	}
	if v.Format() < state.FormatQuotas {
		return plan{}, door.Refuse(model.ErrUnavailable, key, "not every coordinator knows quotas yet",
			"run this version on all of them: see `rvol cluster members`")
	}
	if err := model.CheckName("quota", name, model.MaxName); err != nil {
		return plan{}, err
	}
	old, known := state.Get[*model.Quota](v, name)
	if !known {
		q := &model.Quota{Meta: newMeta(name, nil, time.Now())}
		err := setQuota(q, r)
		return plan{object: q, new: true, differences: differences(nil, quotaSpec(q))}, err
	}
	before := quotaSpec(old)
	wanted := proto.CloneOf(before)
	if err := overlay(key, wanted, r, given); err != nil {
		return plan{}, err
	}
	q := model.Clone(old)
	if err := setQuota(q, wanted); err != nil {
		return plan{}, err
	}
	diff := differences(before, quotaSpec(q))
	if policyChanged(diff) {
		q.Generation++
	}
	return plan{object: q, differences: diff}, nil
}

func setQuota(q *model.Quota, r *adminv1.QuotaSpec) error {
	q.Labels, q.Properties, q.Selector = r.GetLabels(), r.GetProperties(), r.GetSelector()
	q.Bytes, q.Volumes = r.Bytes, nil
	if r.Volumes != nil {
		n := int64(r.GetVolumes())
		q.Volumes = &n
	}
	switch {
	case q.Bytes == nil && q.Volumes == nil:
		return door.Invalid(q.Key(), "it limits nothing: say bytes, volumes or both")
	case r.GetBytes() < 0 || r.GetVolumes() < 0:
		return door.Invalid(q.Key(), "a limit may not be negative")
	}
	if err := checkSelector(q.Key(), "selector of volumes", q.Selector); err != nil {
		return err
	}
	return checkNotes(q)
}

func quotaSpec(q *model.Quota) *adminv1.QuotaSpec {
	out := &adminv1.QuotaSpec{Labels: q.Labels, Properties: q.Properties, Selector: q.Selector, Bytes: q.Bytes}
	if q.Volumes != nil {
		n := int32(*q.Volumes)
		out.Volumes = &n
	}
	return out
}

// Delete takes a quota away.
func (s *quotas) Delete(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		q, err := find[*model.Quota](v, r.GetName())
		if err != nil {
			return nil, err
		}
		return b.Because("delete quota " + q.Name).Delete(q), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev}, nil
}
