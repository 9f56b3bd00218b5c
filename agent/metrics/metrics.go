package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rvol/agent/decide"
	"rvol/agent/observe"
	"rvol/proto/probe"
)

// Facts are how an agent is at one moment.
type Facts struct {
	Connected       bool // has a session with the leader
	Order           decide.Desired
	LVM             observe.LVMView
	DRBD            observe.DRBDView
	Replicas        []decide.ReplicaState
	Frozen          int // resources whose I/O waits for leave to go on
	Stuck           int // tools that do not end
	Conditions      []decide.Condition
	Certificate, CA time.Time // when they lapse; zero: not known
}

// Metrics is what an agent tells of itself.
type Metrics struct {
	registry *prometheus.Registry
	tools    *tools
}

// New makes them, with nothing to read from yet: what is counted is counted from the beginning.
func New(version string) *Metrics {
	m := &Metrics{registry: probe.NewRegistry("agent", version), tools: newTools()}
	m.registry.MustRegister(m.tools)
	return m
}

// Read adds what is read from the facts of the moment.
func (m *Metrics) Read(node string, facts func() Facts) {
	m.registry.MustRegister(newMachine(node, facts))
}

// Gatherer is what a scrape reads.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// machine is what is read.
type machine struct {
	node  string
	facts func() Facts
	probe.Set

	info, connected, order, incarnation     probe.Gauge
	observed, replicas, failed              probe.Gauge
	frozen, stuck, condition                probe.Gauge
	certificate, ca                         probe.Gauge
	vgSize, vgFree                          probe.Gauge
	poolSize, poolData, poolMetadata        probe.Gauge
	roles, disks, connections, suspended    probe.Gauge
	inquorate, outOfSync, syncing, progress probe.Gauge
}

func newMachine(node string, facts func() Facts) *machine {
	m := &machine{node: node, facts: facts}
	m.info = m.Gauge("rvol_agent_info", "Name of the node in the cluster; always 1.", "node")
	m.connected = m.Gauge("rvol_agent_session_connected", "1 while the agent has a session with the leader.")
	m.order = m.Gauge("rvol_agent_order_index", "Log index of the newest order accepted.")
	m.incarnation = m.Gauge("rvol_agent_order_incarnation", "Incarnation of the newest order accepted.")
	m.observed = m.Gauge("rvol_agent_observed", "1 while all that LVM or DRBD hold on the machine is known.", "what")
	m.replicas = m.Gauge("rvol_agent_replicas", "Replicas that the node is to hold.")
	m.failed = m.Gauge("rvol_agent_replicas_failed", "Replicas that cannot go on: rvol volume show says why.")
	m.frozen = m.Gauge("rvol_agent_io_frozen_resources", "Resources whose I/O waits for leave to go on without the other copy.")
	m.stuck = m.Gauge("rvol_agent_tools_stuck", "Tools that do not end.")
	m.condition = m.Gauge("rvol_agent_condition_false", "1 while a condition of the machine is False: something is wrong there.", "condition")
	m.certificate = m.Gauge("rvol_certificate_expiry_timestamp_seconds", "When the certificate of this program lapses.")
	m.ca = m.Gauge("rvol_ca_expiry_timestamp_seconds", "When the certificate of the cluster's CA lapses.")
	m.storage()
	m.drbd()
	return m
}

// Collect is what a scrape asks for.
func (m *machine) Collect(out chan<- prometheus.Metric) {
	f := m.facts()
	m.info.Is(out, 1, m.node)
	m.connected.Is(out, probe.One(f.Connected))
	m.order.Is(out, float64(f.Order.Order.Index))
	m.incarnation.Is(out, float64(f.Order.Order.Incarnation))
	m.observed.Is(out, probe.One(f.LVM.Seen && f.LVM.Missing == "" && f.LVM.Err == ""), "lvm")
	m.observed.Is(out, probe.One(f.DRBD.Seen && f.DRBD.Missing == "" && f.DRBD.Err == ""), "drbd")
	failed := 0
	for _, r := range f.Replicas {
		if r.Error != "" {
			failed++
		}
	}
	m.replicas.Is(out, float64(len(f.Replicas)))
	m.failed.Is(out, float64(failed))
	m.frozen.Is(out, float64(f.Frozen))
	m.stuck.Is(out, float64(f.Stuck))
	for _, c := range f.Conditions {
		m.condition.Is(out, probe.One(c.Status == "False"), c.Type)
	}
	for g, t := range map[probe.Gauge]time.Time{m.certificate: f.Certificate, m.ca: f.CA} {
		if !t.IsZero() {
			g.Is(out, float64(t.Unix()))
		}
	}
	m.readStorage(out, f)
	m.readDRBD(out, f)
}
