package coordinator

import (
	"runtime"

	"rvol/coordinator/consensus"
	"rvol/proto/probe"
)

// self is what a coordinator tells of itself in a support bundle.
type self struct {
	Name, API, Raft, Version, Go string
	Heartbeat, NotReadyAfter     string
	Election, StableFor          string
	RemoveDead                   string
	LabLoopback                  bool
	Consensus                    consensus.Stats
	Failed                       string
}

func (m *member) self() any {
	s := self{
		Name: m.place.Name, API: m.place.API, Raft: m.place.Raft, Version: m.Version, Go: runtime.Version(),
		Heartbeat: m.Heartbeat.String(), NotReadyAfter: m.NotReadyAfter.String(),
		Election: m.Election.String(), StableFor: m.StableFor.String(), RemoveDead: m.RemoveDead.String(),
		LabLoopback: m.LabLoopback, Consensus: m.node.Stats(),
	}
	if s.Consensus.Failed != nil {
		s.Failed, s.Consensus.Failed = s.Consensus.Failed.Error(), nil
	}
	return s
}

// secrets are those of this machine; the state has more.
func (m *member) secrets() [][]byte {
	return append(identityDir(m.Dir).Secrets(), m.office.Sealing.Reveal())
}

func (m *member) scrape() ([]byte, error) { return probe.Text(m.metrics.Gatherer()) }
