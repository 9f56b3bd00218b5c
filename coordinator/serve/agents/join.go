package agents

import (
	"context"
	"crypto/rand"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// Join redeems a token: one entry holds that it is used, the agent's key, and the node.
func (s *service) Join(ctx context.Context, r *agentv1.JoinRequest) (*agentv1.JoinResponse, error) {
	if err := model.CheckLabels(r.GetLabels()); err != nil {
		return nil, err
	}
	if r.GetZone() != "" {
		if err := model.CheckName("zone", r.GetZone(), model.MaxName); err != nil {
			return nil, err
		}
	}
	addresses, err := s.addresses(r.GetAddresses())
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", r.GetName(), err)
	}
	now := s.Clock()
	var ticket *enroll.Ticket
	err = enroll.Again(ctx, s.Store, s.Proposer, func(v state.View) (*state.Build, error) {
		var err error
		ticket, err = s.Office.Examine(v, enroll.Application{Kind: identity.NodeToken, Token: r.GetToken(), CSR: r.GetCsr(), Name: r.GetName()}, now)
		if err != nil || ticket.Granted {
			return nil, err
		}
		b := state.NewTxn("agent/"+r.GetName(), fmt.Sprintf("node %s joins with token %s", r.GetName(), ticket.Token.Name))
		ticket.Add(b)
		if _, there := state.Get[*model.Node](v, r.GetName()); !there {
			n := &model.Node{Zone: r.GetZone()}
			n.Name, n.UID, n.CreatedAt, n.Generation, n.Labels = r.GetName(), rand.Text(), now, 1, r.GetLabels()
			st := &model.NodeStatus{Reason: "joined, not yet heard of", UpdatedBy: "register", UpdatedAt: now, NotReadySince: now, Addresses: addresses}
			st.Name = n.Name
			b.Put(n).Put(st)
		}
		return b, nil
	})
	if err != nil {
		return nil, err
	}
	v := s.Store.View()
	cert, ca, err := s.Office.Sign(v, ticket.Key, ticket.ID, now)
	if err != nil {
		return nil, err
	}
	return &agentv1.JoinResponse{
		Certificate: cert.Raw, Ca: ca.Raw, Cluster: ticket.ID.Cluster,
		Coordinators: coordinators(v), Expires: timestamppb.New(cert.NotAfter),
	}, nil
}

// Renew signs a new certificate for the key that the agent's present one proves.
func (s *service) Renew(ctx context.Context, r *agentv1.RenewRequest) (*agentv1.RenewResponse, error) {
	v := s.Store.View()
	cert, ca, err := s.Office.Renew(v, door.From(ctx), r.GetCsr(), s.Clock())
	if err != nil {
		return nil, err
	}
	return &agentv1.RenewResponse{Certificate: cert.Raw, Ca: ca.Raw, Coordinators: coordinators(v)}, nil
}

// coordinators lists the API addresses of all members.
func coordinators(v state.View) []string {
	var all []string
	for m := range state.All[*model.Member](v) {
		all = append(all, m.APIAddr)
	}
	return all
}
