package coordinator

import (
	"context"
	"io"

	"rvol/coordinator/consensus"
	"rvol/coordinator/serve/admin"
	"rvol/coordinator/serve/agents"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// admin is what the admin API is made of.
func (m *member) admin() admin.Config {
	c := admin.Config{
		Name: m.place.Name, Store: m.store, Inventory: m.inventory, Proposer: m.proposer, Office: m.office,
		Clock: m.Clock, Raft: raftView{m.node}, Trail: m.trail, Leadership: m.leadership.Leadership, Lapse: m.known.lapse,
		Collects: m.collects, Self: m.self, Scrape: m.scrape, Secrets: m.secrets, Leftovers: m.Leftovers,
	}
	if m.web != nil {
		c.Link = func(v admin.Visitor) (*adminv1.DashboardLink, error) { return m.web.Link(v.ID, v.Key, v.Until) }
	}
	return c
}

// agents is what the agents' door is made of.
func (m *member) agents() agents.Config {
	return agents.Config{
		Name: m.place.Name, Store: m.store, Inventory: m.inventory, Proposer: m.proposer, Office: m.office,
		Collects: m.collects, Leadership: m.leadership.Leadership, Volumes: admin.Volumes(m.admin()), Heartbeat: m.Heartbeat,
		Loopback: m.LabLoopback, Clock: m.Clock, Log: m.Log,
	}
}

// raftView is a consensus node in the words of the admin API.
type raftView struct{ *consensus.Node }

var _ admin.Raft = raftView{}

// Status says how this member sees the others.
func (r raftView) Status() (admin.RaftStatus, error) {
	s := r.Stats()
	out := admin.RaftStatus{
		Term: s.Term, Commit: s.Commit, Applied: s.Applied, Leader: s.Leader, LastContact: s.LastContact, Failed: s.Failed,
	}
	all, err := r.Members()
	for _, m := range all {
		out.Members = append(out.Members, admin.RaftMember{Name: m.ID, Addr: m.Addr, Voter: m.Voter, LastContact: m.LastContact})
	}
	return out, err
}

// AddNonvoter lets a member follow the log; it becomes a voter by itself.
func (r raftView) AddNonvoter(ctx context.Context, name, addr string) error {
	return r.Node.AddNonvoter(ctx, consensus.Server{ID: name, Addr: addr})
}

// Restore replaces the state of all members.
func (r raftView) Restore(ctx context.Context, head state.SnapshotHead, size int64, data io.Reader) error {
	return r.Node.Restore(ctx, consensus.Snapshot{Head: head, Size: size, Data: data})
}
