package admin

import (
	"context"
	"fmt"
	"net"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// JoinMember redeems a coordinator's token: one entry holds that it is used, the key and
// the member, which then follows the log and votes when it has caught up.
func (s *cluster) JoinMember(ctx context.Context, r *adminv1.JoinMemberRequest) (*adminv1.JoinMemberResponse, error) {
	key := model.Key{Kind: model.KindMember, Name: r.GetName()}
	for what, addr := range map[string]string{"API": r.GetApiAddr(), "Raft": r.GetRaftAddr()} {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, door.Invalid(key, "%s address %q: want host:port", what, addr)
		}
	}
	now := s.Clock()
	var ticket *enroll.Ticket
	err := enroll.Again(ctx, s.Store, s.Proposer, func(v state.View) (*state.Build, error) {
		if format := v.Format(); int(r.GetLowestFormat()) > format || int(r.GetHighestFormat()) < format {
			return nil, door.Refuse(model.ErrInvalid, key, fmt.Sprintf("it serves the state's formats %d to %d, the cluster is at %d", r.GetLowestFormat(), r.GetHighestFormat(), format),
				"install the version that the other coordinators run")
		}
		var err error
		ticket, err = s.Office.Examine(v, enroll.Application{Kind: identity.CoordinatorToken, Token: r.GetToken(), CSR: r.GetCsr(), Name: r.GetName()}, now)
		if err != nil {
			return nil, err
		}
		if err := freeAddresses(v, r); err != nil {
			return nil, err
		}
		m := &model.Member{Meta: newMeta(r.GetName(), nil, now)}
		if old, ok := state.Get[*model.Member](v, m.Name); ok {
			m = model.Clone(old)
		}
		m.RaftAddr, m.APIAddr, m.Version = r.GetRaftAddr(), r.GetApiAddr(), r.GetVersion()
		m.Formats = [2]int{int(r.GetLowestFormat()), int(r.GetHighestFormat())}
		b := state.NewTxn("server/"+r.GetName(), fmt.Sprintf("coordinator %s joins with token %s", r.GetName(), ticket.Token.Name))
		ticket.Add(b)
		return b.Put(m), nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.Raft.AddNonvoter(ctx, r.GetName(), r.GetRaftAddr()); err != nil {
		return nil, err
	}
	v := s.Store.View()
	cert, ca, err := s.Office.Sign(v, ticket.Key, ticket.ID, now)
	if err != nil {
		return nil, err
	}
	out := &adminv1.JoinMemberResponse{Certificate: cert.Raw, Ca: ca.Raw, Cluster: ticket.ID.Cluster, SealingKey: s.Office.Sealing.Reveal()}
	return out, s.introduce(v, out)
}

// freeAddresses refuses addresses that other members have.
func freeAddresses(v state.View, r *adminv1.JoinMemberRequest) error {
	for m := range state.All[*model.Member](v) {
		if m.Name != r.GetName() && (m.APIAddr == r.GetApiAddr() || m.RaftAddr == r.GetRaftAddr()) {
			return door.Refuse(model.ErrExists, model.Key{Kind: model.KindMember, Name: r.GetName()}, "its addresses are those of "+m.Name, "give every coordinator addresses of its own")
		}
	}
	return nil
}

// introduce adds the members, and the keys they are known by.
func (s *cluster) introduce(v state.View, out *adminv1.JoinMemberResponse) error {
	raft, err := s.Raft.Status()
	if err != nil {
		return err
	}
	out.Members = s.members(v, raft, s.Leadership())
	for i := range state.All[*model.Identity](v) {
		if i.Kind == string(identity.Server) {
			out.MemberKeys = append(out.MemberKeys, i.Name)
		}
	}
	return nil
}

// RenewMember signs a new certificate for a member's own key, and notes what it runs.
func (s *cluster) RenewMember(ctx context.Context, r *adminv1.RenewMemberRequest) (*adminv1.JoinMemberResponse, error) {
	c, v := door.From(ctx), s.Store.View()
	cert, ca, err := s.Office.Renew(v, c, r.GetCsr(), s.Clock())
	if err != nil {
		return nil, err
	}
	return &adminv1.JoinMemberResponse{Certificate: cert.Raw, Ca: ca.Raw, Cluster: c.ID.Cluster}, s.note(ctx, c, r)
}

// note writes down what a member runs, when that has changed.
func (s *cluster) note(ctx context.Context, c door.Caller, r *adminv1.RenewMemberRequest) error {
	formats := [2]int{int(r.GetLowestFormat()), int(r.GetHighestFormat())}
	return enroll.Again(ctx, s.Store, s.Proposer, func(v state.View) (*state.Build, error) {
		m, err := find[*model.Member](v, c.ID.Name)
		if err != nil || m.Version == r.GetVersion() && m.Formats == formats {
			return nil, err
		}
		m = model.Clone(m)
		m.Version, m.Formats = r.GetVersion(), formats
		return state.NewTxn(c.Actor(), fmt.Sprintf("coordinator %s runs version %s", m.Name, m.Version)).Put(m), nil
	})
}
