package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/proto/probe"
)

// member is what every coordinator tells.
type member struct {
	Config
	probe.Set

	leader, leaderKnown, contact, failed   probe.Gauge
	term, lastLog, commit, applied, behind probe.Gauge
	snapshot, voters, members              probe.Gauge
	peerVoter, peerLastLog, peerSilence    probe.Gauge
	free, total                            probe.Gauge
	format, incarnation, reconciling       probe.Gauge
	certificate, ca                        probe.Gauge
}

func newMember(c Config) *member {
	m := &member{Config: c}
	m.leader = m.Gauge("rvol_raft_leader", "1 on the coordinator that leads.")
	m.leaderKnown = m.Gauge("rvol_raft_leader_known", "1 while this coordinator knows who leads.")
	m.contact = m.Gauge("rvol_raft_leader_contact_seconds", "Since this coordinator last heard of the leader; 0 on the leader.")
	m.failed = m.Gauge("rvol_raft_failed", "1 when this coordinator met a write error and takes nothing more.")
	m.term = m.Gauge("rvol_raft_term", "Term of Raft; it grows with each election.")
	m.lastLog = m.Gauge("rvol_raft_last_log_index", "Index of the last log entry on this coordinator's disk.")
	m.commit = m.Gauge("rvol_raft_commit_index", "Index up to which this coordinator knows the log to be agreed on.")
	m.applied = m.Gauge("rvol_raft_applied_index", "Index of the last transaction in force on this coordinator.")
	m.behind = m.Gauge("rvol_raft_behind_entries", "Entries agreed on that are not in force on this coordinator yet.")
	m.snapshot = m.Gauge("rvol_raft_snapshot_index", "Index that this coordinator's last snapshot stands for.")
	m.voters = m.Gauge("rvol_raft_voters", "Coordinators that vote.")
	m.members = m.Gauge("rvol_raft_members", "Coordinators, with those that do not vote yet.")
	m.peerVoter = m.Gauge("rvol_raft_member_voter", "1 for each coordinator that votes, as the leader knows.", "member")
	m.peerLastLog = m.Gauge("rvol_raft_member_last_log_index", "Index of the last log entry of each coordinator, as the leader knows.", "member")
	m.peerSilence = m.Gauge("rvol_raft_member_silence_seconds", "Since the leader last heard of each coordinator.", "member")
	m.free = m.Gauge("rvol_raft_disk_free_bytes", "Free space of the file system of the log.")
	m.total = m.Gauge("rvol_raft_disk_size_bytes", "Size of the file system of the log.")
	m.format = m.Gauge("rvol_state_format", "Format of the state that is in force.")
	m.incarnation = m.Gauge("rvol_state_incarnation", "Incarnation of the state; it grows when a saved state is restored.")
	m.reconciling = m.Gauge("rvol_state_reconciling", "1 while a restored state waits for an operator.")
	m.certificate = m.Gauge("rvol_certificate_expiry_timestamp_seconds", "When the certificate of this program lapses.")
	m.ca = m.Gauge("rvol_ca_expiry_timestamp_seconds", "When the certificate of the cluster's CA lapses.")
	return m
}

// Collect is what a scrape asks for.
func (m *member) Collect(out chan<- prometheus.Metric) {
	v := m.Store.View()
	m.applied.Is(out, float64(v.Index()))
	m.format.Is(out, float64(v.Format()))
	if c, ok := state.Get[*model.Cluster](v, model.ClusterName); ok {
		m.incarnation.Is(out, float64(c.Incarnation))
		m.reconciling.Is(out, probe.One(c.Reconciling))
	}
	certificate, ca := m.Expiry()
	stamp(out, m.certificate, certificate)
	stamp(out, m.ca, ca)
	s, err := m.Member()
	if err != nil {
		m.Log.Warn("metrics of raft are not known", "err", err)
		return
	}
	m.raft(out, s)
	for _, p := range s.Members {
		if s.Leading {
			m.peer(out, p)
		}
	}
}

func (m *member) raft(out chan<- prometheus.Metric, s Member) {
	m.leader.Is(out, probe.One(s.Leading))
	m.leaderKnown.Is(out, probe.One(s.Leader != ""))
	m.failed.Is(out, probe.One(s.Failed))
	m.term.Is(out, float64(s.Term))
	m.lastLog.Is(out, float64(s.LastLog))
	m.commit.Is(out, float64(s.Commit))
	m.behind.Is(out, float64(s.Behind))
	m.snapshot.Is(out, float64(s.Snapshot))
	m.members.Is(out, float64(len(s.Members)))
	voters := 0
	for _, p := range s.Members {
		if p.Voter {
			voters++
		}
	}
	m.voters.Is(out, float64(voters))
	switch {
	case s.Leading:
		m.contact.Is(out, 0)
	case !s.Contact.IsZero():
		m.contact.Is(out, time.Since(s.Contact).Seconds())
	}
	if s.Total > 0 {
		m.free.Is(out, float64(s.Free))
		m.total.Is(out, float64(s.Total))
	}
}

func (m *member) peer(out chan<- prometheus.Metric, p Peer) {
	m.peerVoter.Is(out, probe.One(p.Voter), p.Name)
	if !p.Contact.IsZero() {
		m.peerLastLog.Is(out, float64(p.LastLog), p.Name)
		m.peerSilence.Is(out, time.Since(p.Contact).Seconds(), p.Name)
	}
}

func stamp(out chan<- prometheus.Metric, g probe.Gauge, t time.Time) {
	if !t.IsZero() {
		g.Is(out, float64(t.Unix()))
	}
}
