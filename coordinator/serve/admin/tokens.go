package admin

import (
	"context"
	"fmt"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

type tokens struct {
	adminv1.UnimplementedTokensServer
	*api
}

// List tells which tokens there are; their secrets are known to nobody here.
func (s *tokens) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListTokensResponse, error) {
	picked, err := pick[*model.Token](s.Store.View(), q)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListTokensResponse{}
	for _, t := range picked {
		out.Tokens = append(out.Tokens, tokenOf(t))
	}
	return out, nil
}

func tokenOf(t *model.Token) *adminv1.Token {
	return &adminv1.Token{
		Meta: meta(&t.Meta), Kind: t.Kind, Subject: t.Subject, ExpiresAt: timestamp(t.ExpiresAt), Redeemed: t.RedeemedBy != "",
	}
}

// lapsedKept is how long a token that can no longer be used is still listed.
const lapsedKept = 24 * time.Hour

// Create makes a token and shows it once: the state keeps only its hash. A repeated
// request makes another one, for the first is shown to nobody any more.
func (s *tokens) Create(ctx context.Context, r *adminv1.CreateTokenRequest) (*adminv1.CreatedToken, error) {
	ca, err := s.Office.CA(s.Store.View())
	if err != nil {
		return nil, err
	}
	ttl, err := atLeast(model.Key{Kind: model.KindToken, Name: "new"}, "time to live", r.GetTtl(), 0)
	if err != nil {
		return nil, err
	}
	token, err := identity.NewToken(identity.TokenKind(r.GetKind()), ca.Hash())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	now := s.Clock()
	if been := s.Store.View().Time(); been.After(now) { // by which it lapses, as a clock that was ahead has left it
		now = been
	}
	record, err := token.Record(r.GetSubject(), now, ttl)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	t := &model.Token{Kind: r.GetKind(), Subject: r.GetSubject(), Hash: record.Hash.String(), ExpiresAt: record.Expires}
	t.Meta = newMeta(record.ID, nil, s.Clock())
	_, err = s.write(ctx, "/"+record.ID, func(v state.View, b *state.Build) (*state.Build, error) {
		for old := range state.All[*model.Token](v) {
			if now.Sub(old.ExpiresAt) > lapsedKept {
				b.Delete(old)
			}
		}
		return b.Because(fmt.Sprintf("make token %s for a %s", t.Name, t.Kind)).Put(t), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.CreatedToken{Token: tokenOf(t), Text: token.Reveal()}, nil
}

// Delete takes a token back.
func (s *tokens) Delete(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		t, err := find[*model.Token](v, r.GetName())
		if err != nil {
			return nil, err
		}
		if t.RedeemedBy != "" && s.Clock().Before(t.ExpiresAt) {
			return nil, door.Refuse(model.ErrBusy, t.Key(), "it has been used", "take the machine out with `rvol node delete` or `rvol cluster remove`; the token goes by itself")
		}
		return b.Because("delete token " + t.Name).Delete(t), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev}, nil
}
