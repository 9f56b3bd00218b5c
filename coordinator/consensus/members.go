package consensus

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"rvol/coordinator/model"
)

// MemberStatus is one member of the cluster. How far the others are is known to the
// leader only.
type MemberStatus struct {
	Server
	Voter       bool
	Leader      bool
	LastLog     uint64    // index of its last log entry; 0: not known
	LastContact time.Time // zero: not known
}

// Members lists the members in the order in which they joined.
func (n *Node) Members() ([]MemberStatus, error) {
	f := n.raft.GetConfiguration()
	if err := f.Error(); err != nil {
		return nil, fmt.Errorf("list members: %w", n.explain(err))
	}
	_, leader := n.raft.LeaderWithID()
	var all []MemberStatus
	for _, s := range f.Configuration().Servers {
		m := MemberStatus{
			Server: Server{ID: string(s.ID), Addr: string(s.Address)},
			Voter:  s.Suffrage == raft.Voter,
			Leader: s.ID == leader,
		}
		switch {
		case m.ID == n.cfg.ID:
			m.LastLog, m.LastContact = n.raft.LastIndex(), time.Now()
		case n.raft.State() == raft.Leader:
			c := n.progress.of(m.ID)
			m.LastLog, m.LastContact = c.lastLog, c.at
		}
		all = append(all, m)
	}
	return all, nil
}

// AddNonvoter lets a member follow the log without a vote; it becomes a voter by itself
// once it has caught up and stayed so. A member that is there already is left as it is.
func (n *Node) AddNonvoter(ctx context.Context, s Server) error {
	if is, err := n.member(s.ID); err != nil || is != nil && is.Addr == s.Addr {
		return err
	}
	f := n.raft.AddNonvoter(raft.ServerID(s.ID), raft.ServerAddress(s.Addr), 0, enqueueTimeout)
	return n.changed(ctx, "add member "+s.ID, f)
}

// Remove takes a member out of the cluster for good. The last voter cannot be removed.
func (n *Node) Remove(ctx context.Context, id string) error {
	is, err := n.member(id)
	if err != nil {
		return err
	}
	if is == nil {
		return fmt.Errorf("remove member %s: %w", id, model.ErrNotFound)
	}
	return n.changed(ctx, "remove member "+id, n.raft.RemoveServer(raft.ServerID(id), 0, enqueueTimeout))
}

// TransferLeadership makes another voter the leader: the one called id, or, when id is
// empty, the one that is furthest.
func (n *Node) TransferLeadership(ctx context.Context, id string) error {
	if id == "" {
		return n.changed(ctx, "hand leadership over", n.raft.LeadershipTransfer())
	}
	to, err := n.member(id)
	switch {
	case err != nil:
		return err
	case to == nil:
		return fmt.Errorf("hand leadership to %s: %w", id, model.ErrNotFound)
	case !to.Voter:
		return fmt.Errorf("hand leadership to %s: %w: it is not a voter yet", id, model.ErrBusy)
	case to.Leader:
		return nil
	}
	return n.changed(ctx, "hand leadership to "+id, n.raft.LeadershipTransferToServer(raft.ServerID(id), raft.ServerAddress(to.Addr)))
}

// member returns the member called id, or nil.
func (n *Node) member(id string) (*MemberStatus, error) {
	all, err := n.Members()
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.ID == id {
			return &m, nil
		}
	}
	return nil, nil
}

func (n *Node) changed(ctx context.Context, doing string, f raft.Future) error {
	if err := n.explain(n.await(ctx, f)); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// Stats are what Raft says of this member.
type Stats struct {
	State        string // Leader, Follower, Candidate; Shutdown when it was removed
	Term         uint64
	Leader       string    // id; empty: none is known
	LastContact  time.Time // with the leader; zero: never
	LastLog      uint64    // index of the last entry on disk
	Commit       uint64
	Applied      uint64 // index that the store is at
	Behind       uint64 // committed entries that are not in force here yet
	LastSnapshot uint64
	Failed       error // why this member stopped
}

// Stats returns how this member is doing.
func (n *Node) Stats() Stats {
	_, leader := n.raft.LeaderWithID()
	told := n.raft.Stats()
	number := func(name string) uint64 {
		v, _ := strconv.ParseUint(told[name], 10, 64) // Raft wrote it
		return v
	}
	commit, handed := n.raft.CommitIndex(), n.raft.AppliedIndex()
	return Stats{
		State: n.raft.State().String(), Term: n.raft.CurrentTerm(), Leader: string(leader),
		LastContact: n.raft.LastContact(), LastLog: n.raft.LastIndex(), Commit: commit,
		Behind:  commit - min(commit, handed) + number("fsm_pending"),
		Applied: n.store.Index(), LastSnapshot: number("last_snapshot_index"), Failed: n.guard.failed(),
	}
}
