package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

type certificates struct {
	adminv1.UnimplementedCertificatesServer
	*api
}

// kindCertificate is how messages name a person's certificate.
const kindCertificate model.Kind = "certificate"

// List tells of the certificates of people that are on record.
func (s *certificates) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListCertificatesResponse, error) {
	picked, err := pick[*model.Identity](s.Store.View(), q)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListCertificatesResponse{}
	for _, i := range picked {
		if persons(i) {
			out.Certificates = append(out.Certificates, certificateOf(i))
		}
	}
	return out, nil
}

func persons(i *model.Identity) bool { return identity.Role(i.Kind).Person() }

func certificateOf(i *model.Identity) *adminv1.Certificate {
	return &adminv1.Certificate{
		Meta: meta(&i.Meta), Subject: i.Subject, Role: i.Kind, ExpiresAt: timestamp(i.ExpiresAt),
		RevokedAt: timestamp(i.RevokedAt), RevokedBy: i.RevokedBy, Reason: i.Reason,
	}
}

// Record notes a certificate that a coordinator made. Those that lapsed long ago
// are forgotten, unless they were revoked: a clock that is ahead must give nobody back what was taken.
func (s *certificates) Record(ctx context.Context, r *adminv1.RecordCertificateRequest) (*adminv1.Done, error) {
	key := model.Key{Kind: kindCertificate, Name: r.GetName()}
	if err := checkPrint(key); err != nil {
		return nil, err
	}
	if !identity.Role(r.GetRole()).Person() {
		return nil, door.Invalid(key, "role %q is none of people", r.GetRole())
	}
	now := s.Clock()
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		if old, there := state.Get[*model.Identity](v, r.GetName()); there {
			return nil, door.Refuse(model.ErrExists, key, fmt.Sprintf("its key is that of %s %s already", old.Kind, old.Subject), "")
		}
		i := &model.Identity{Kind: r.GetRole(), Subject: r.GetSubject(), ExpiresAt: r.GetExpiresAt().AsTime()}
		i.Name, i.CreatedAt = r.GetName(), now
		for old := range state.All[*model.Identity](v) {
			if persons(old) && old.RevokedAt.IsZero() && !old.ExpiresAt.IsZero() && now.Sub(old.ExpiresAt) > forgotten {
				b.Delete(old)
			}
		}
		return b.Because(fmt.Sprintf("certificate %s was made for %s %s", short(i.Name), i.Kind, i.Subject)).Put(i), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev}, nil
}

// forgotten is how long a certificate that has lapsed stays on record: clocks differ.
const forgotten = 30 * 24 * time.Hour

// checkPrint refuses what is no fingerprint.
func checkPrint(key model.Key) error {
	var print identity.Fingerprint
	if err := print.UnmarshalText([]byte(key.Name)); err != nil {
		return door.Invalid(key, "want the fingerprint of a key, as `rvol certificate list` shows it: %s", err)
	}
	return nil
}

func short(print string) string { return print[:min(len(print), 12)] }

// Revoke ends certificates of people at every door. It cannot be taken back: make others.
func (s *certificates) Revoke(ctx context.Context, r *adminv1.RevokeCertificateRequest) (*adminv1.ListCertificatesResponse, error) {
	key := model.Key{Kind: kindCertificate, Name: r.GetName() + r.GetSubject()}
	if (r.GetName() == "") == (r.GetSubject() == "") {
		return nil, door.Invalid(key, "give either the fingerprint of one, or whose all of them are")
	}
	if err := confirmed(key, r.GetConfirm()); err != nil {
		return nil, err
	}
	c := door.From(ctx)
	var names []string
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		names = nil
		meant, err := revocable(v, key, r, s.Clock())
		if err != nil {
			return nil, err
		}
		for _, i := range meant {
			if i.Name == c.Key.String() {
				return nil, door.Refuse(model.ErrBusy, key, "it is the one that you use for this", "use another admin's certificate")
			}
			names = append(names, i.Name)
			if i.RevokedAt.IsZero() {
				i = model.Clone(i)
				i.RevokedAt, i.RevokedBy, i.Reason = s.Clock(), c.Actor(), r.GetReason()
				b.Put(i)
			}
		}
		if b.Empty() {
			return nil, nil
		}
		cause := fmt.Sprintf("revoke %d certificates of %s", len(meant), r.GetSubject())
		if r.GetName() != "" {
			cause = fmt.Sprintf("revoke certificate %s of %s", short(r.GetName()), orNone(meant[0].Subject))
		}
		return b.Because(strings.TrimSuffix(cause+": "+r.GetReason(), ": ")), nil
	})
	if err != nil {
		return nil, err
	}
	return s.List(ctx, &adminv1.ListRequest{Names: names})
}

// revocable are the certificates that a request means. One that is not on record, because it
// was made while there was no leader, is revoked by its whole fingerprint.
func revocable(v state.View, key model.Key, r *adminv1.RevokeCertificateRequest, now time.Time) ([]*model.Identity, error) {
	if r.GetName() == "" {
		var all []*model.Identity
		for i := range state.All[*model.Identity](v) {
			if persons(i) && i.Subject == r.GetSubject() {
				all = append(all, i)
			}
		}
		if len(all) == 0 {
			return nil, door.Refuse(model.ErrNotFound, key, "none of that person is on record", "see `rvol certificate list`, or give the fingerprint of the one to revoke")
		}
		return all, nil
	}
	if err := checkPrint(key); err != nil {
		return nil, err
	}
	i, ok := state.Get[*model.Identity](v, r.GetName())
	switch {
	case ok && !persons(i):
		return nil, door.Refuse(model.ErrInvalid, key, fmt.Sprintf("it is the key of %s %s", i.Kind, i.Subject),
			"machines are removed: `rvol node delete`, `rvol node lost` or `rvol cluster remove`")
	case !ok:
		i = &model.Identity{Kind: string(identity.Viewer)}
		i.Name, i.CreatedAt = r.GetName(), now
	}
	return []*model.Identity{i}, nil
}
