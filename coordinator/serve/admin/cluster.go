package admin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/membership"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

type cluster struct {
	adminv1.UnimplementedClusterServer
	*api
}

// silence is how long a member may say nothing to the leader before that is told.
const silence = 5 * time.Second

// Status tells how the coordinators are, as this one sees them.
func (s *cluster) Status(context.Context, *adminv1.ClusterStatusRequest) (*adminv1.ClusterStatus, error) {
	r, err := s.Raft.Status()
	if err != nil {
		return nil, err
	}
	v, l := s.Store.View(), s.Leadership()
	out := &adminv1.ClusterStatus{
		Leader: l.Leader, Term: r.Term, AppliedIndex: v.Index(), CommitIndex: r.Commit, Format: int32(v.Format()),
		StateHash: v.Hash().String(), AnsweredBy: s.Name, Members: s.members(v, r, l),
	}
	if c, ok := state.Get[*model.Cluster](v, model.ClusterName); ok {
		out.Id, out.Incarnation, out.Reconciling = c.ID, c.Incarnation, c.Reconciling
	}
	if !l.Leading && !r.LastContact.IsZero() {
		out.LeaderContact = durationpb.New(time.Since(r.LastContact))
	}
	return out, nil
}

// members joins what Raft knows of the members with what they said of themselves.
func (s *cluster) members(v state.View, r RaftStatus, l door.Leadership) []*adminv1.Member {
	var out []*adminv1.Member
	for _, m := range r.Members {
		p := &adminv1.Member{Name: m.Name, RaftAddr: m.Addr, Voter: m.Voter, Leader: m.Name == l.Leader}
		if o, ok := state.Get[*model.Member](v, m.Name); ok {
			p.ApiAddr, p.Version = o.APIAddr, o.Version
		}
		if l.Leading {
			p.Conditions = append(p.Conditions, condition(reachable(m, time.Now())))
		}
		p.Conditions = append(p.Conditions, s.certificate(identity.Server, m.Name)...)
		if m.Name == s.Name && r.Failed != nil {
			p.Conditions = append(p.Conditions, condition(model.Condition{
				Type: "Healthy", Status: model.False, Reason: "Stopped", Message: r.Failed.Error(),
			}))
		}
		out = append(out, p)
	}
	return out
}

// certificate is the condition of a machine whose certificate was out of its time when it
// last connected; none when it was not.
func (a *api) certificate(role identity.Role, name string) []*adminv1.Condition {
	why := a.Lapse(identity.ID{Cluster: a.clusterID(), Role: role, Name: name})
	if why == nil {
		return nil
	}
	return []*adminv1.Condition{condition(model.Condition{
		Type: "CertificateValid", Status: model.False, Reason: "OutOfTime", Message: why.Error() + "; it renews by itself: see its log and its clock",
	})}
}

func (a *api) clusterID() string {
	c, ok := state.Get[*model.Cluster](a.Store.View(), model.ClusterName)
	if !ok {
		return ""
	}
	return c.ID
}

func reachable(m RaftMember, now time.Time) model.Condition {
	c := model.Condition{Type: "Reachable", Status: model.True, Reason: "Reachable"}
	switch {
	case m.LastContact.IsZero():
		c.Status, c.Reason, c.Message = model.Unknown, "NotHeard", "not heard of since this leader was elected"
	case now.Sub(m.LastContact) > silence:
		c.Status, c.Reason = model.False, "Silent"
		c.Message = fmt.Sprintf("nothing heard for %s", now.Sub(m.LastContact).Round(time.Second))
	}
	return c
}

// TransferLeadership lets another member lead.
func (s *cluster) TransferLeadership(ctx context.Context, r *adminv1.TransferLeadershipRequest) (*adminv1.Done, error) {
	if r.GetTo() != "" {
		if _, err := find[*model.Member](s.Store.View(), r.GetTo()); err != nil {
			return nil, err
		}
	}
	if err := s.Raft.TransferLeadership(ctx, r.GetTo()); err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: s.Store.Index(), Message: "was handed over"}, nil
}

// RemoveMember takes a member out for good: first its vote, then its record and key.
func (s *cluster) RemoveMember(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	key := model.Key{Kind: model.KindMember, Name: r.GetName()}
	if err := confirmed(key, r.GetConfirm()); err != nil {
		return nil, err
	}
	if r.GetName() == s.Name {
		return nil, door.Refuse(model.ErrBusy, key, "it leads", "let another lead first: `rvol cluster transfer-leadership`")
	}
	if err := s.leaveRaft(ctx, key); err != nil {
		return nil, err
	}
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		m, err := find[*model.Member](v, r.GetName())
		if err != nil {
			return nil, err
		}
		return control.WithoutMember(v, m, b), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev}, nil
}

// leaveRaft takes a member's vote, unless too few would be left to agree on anything.
func (s *cluster) leaveRaft(ctx context.Context, key model.Key) error {
	raft, err := s.Raft.Status()
	if err != nil {
		return err
	}
	var all []membership.Member
	there := false
	for _, m := range raft.Members {
		alive := m.Name == s.Name || time.Since(m.LastContact) <= silence
		all = append(all, membership.Member{Name: m.Name, Voter: m.Voter, Alive: alive})
		there = there || m.Name == key.Name
	}
	if !there {
		return nil
	}
	if why := membership.Refuse(all, key.Name); why != "" {
		return door.Refuse(model.ErrBusy, key, why, "bring the silent ones back or remove them first")
	}
	return s.Raft.Remove(ctx, key.Name)
}

// chunk is how much of a snapshot goes into one message, in bytes.
const chunk = 256 << 10

// SaveSnapshot streams the whole state. It holds keys.
func (s *cluster) SaveSnapshot(_ *adminv1.SaveSnapshotRequest, stream grpc.ServerStreamingServer[adminv1.SnapshotChunk]) error {
	_, err := s.Store.View().WriteTo(chunks{stream})
	return err
}

// chunks cuts what is written into messages.
type chunks struct {
	stream grpc.ServerStreamingServer[adminv1.SnapshotChunk]
}

var _ io.Writer = chunks{}

func (c chunks) Write(b []byte) (int, error) {
	for at := 0; at < len(b); at += chunk {
		if err := c.stream.Send(&adminv1.SnapshotChunk{Data: bytes.Clone(b[at:min(at+chunk, len(b))])}); err != nil {
			return at, err
		}
	}
	return len(b), nil
}
