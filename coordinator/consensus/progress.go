package consensus

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// progress listens to the leader's messages on their way to the others: Raft does not
// tell how far each of them is.
type progress struct {
	Transport

	mu    sync.Mutex
	peers map[string]contact
}

// contact is a member's last answer to this member as leader.
type contact struct {
	term    uint64
	lastLog uint64 // index of the last entry it has
	at      time.Time
}

func newProgress(t Transport) *progress {
	return &progress{Transport: t, peers: map[string]contact{}}
}

// AppendEntries is what every heartbeat is made of.
func (p *progress) AppendEntries(id raft.ServerID, addr raft.ServerAddress, req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	err := p.Transport.AppendEntries(id, addr, req, resp)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.peers[string(id)] = contact{term: resp.Term, lastLog: resp.LastLog, at: time.Now()}
	}
	return err
}

func (p *progress) of(id string) contact {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peers[id]
}
