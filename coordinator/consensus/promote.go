package consensus

import (
	"time"

	"github.com/hashicorp/raft"
)

const (
	promoteEvery = time.Second
	nearEnough   = 250 // entries: a non-voter that lacks no more has caught up
)

// promote gives a vote, while this member leads, to every non-voter that has caught up
// and stayed so. A vote given to one that lags would make the majority wait for it.
func (n *Node) promote() {
	tick := time.NewTicker(promoteEvery)
	defer tick.Stop()
	since := map[string]time.Time{} // non-voters, and since when they have been near
	for {
		select {
		case <-tick.C:
			n.promoteStable(since)
		case <-n.stopped.Done():
			return
		}
	}
}

func (n *Node) promoteStable(since map[string]time.Time) {
	members, err := n.Members()
	if l, _ := n.leadership.get(); err != nil || !l.Leading {
		clear(since)
		return
	}
	for _, m := range members {
		if m.Voter || !n.near(m) {
			delete(since, m.ID)
			continue
		}
		if _, ok := since[m.ID]; !ok {
			since[m.ID] = time.Now()
		}
		if time.Since(since[m.ID]) < n.cfg.StableFor {
			continue
		}
		f := n.raft.AddVoter(raft.ServerID(m.ID), raft.ServerAddress(m.Addr), 0, enqueueTimeout)
		if err := f.Error(); err != nil {
			n.log.Warn("give a member its vote", "peer", m.ID, "err", err)
			continue
		}
		n.log.Info("member has a vote now", "peer", m.ID)
		delete(since, m.ID)
	}
}

// near says that m answers and lacks little.
func (n *Node) near(m MemberStatus) bool {
	return m.LastLog > 0 && time.Since(m.LastContact) < max(n.cfg.HeartbeatTimeout, promoteEvery) &&
		m.LastLog+nearEnough >= n.raft.CommitIndex()
}
