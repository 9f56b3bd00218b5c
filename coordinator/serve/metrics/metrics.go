package metrics

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"rvol/coordinator/inventory"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/probe"
)

// MaxVolumes is of how many volumes the leader tells one by one, unless told otherwise.
const MaxVolumes = 1000

// Config is what the metrics are read from.
type Config struct {
	Version   string
	Volumes   int                         // of how many the leader tells one by one; 0: MaxVolumes
	Admin     func(grpc.ServiceRegistrar) // the admin API
	Store     *state.Store
	Inventory *inventory.Inventory
	Member    func() (Member, error)
	Expiry    func() (certificate, ca time.Time) // zero: not known
	Log       *slog.Logger
}

// Member is one coordinator, as it sees itself and the others.
type Member struct {
	Leading                         bool
	Leader                          string // name; empty: none is known
	Contact                         time.Time
	Term, LastLog, Commit, Snapshot uint64
	Behind                          uint64 // committed entries that are not in force here yet
	Free, Total                     int64  // bytes of its file system; Total 0: not known
	Failed                          bool
	Members                         []Peer
}

// Peer is one coordinator as the leader sees it.
type Peer struct {
	Name    string
	Voter   bool
	LastLog uint64
	Contact time.Time // zero: not known
}

// Metrics is what a coordinator tells of itself.
type Metrics struct {
	registry *prometheus.Registry
	control  *controllers
	calls    *calls
	txns     *transactions
}

// New makes them, with nothing to read from yet: what is counted is counted from the beginning.
func New(version string) *Metrics {
	m := &Metrics{
		registry: probe.NewRegistry("coordinator", version),
		control:  newControllers(), calls: newCalls(), txns: newTransactions(),
	}
	m.registry.MustRegister(m.control, m.calls, m.txns)
	return m
}

// Read adds what is read from the parts of a coordinator.
func (m *Metrics) Read(c Config) {
	if c.Volumes == 0 {
		c.Volumes = MaxVolumes
	}
	var admin services
	c.Admin(&admin)
	m.registry.MustRegister(newMember(c), newCluster(c, admin))
}

// Gatherer is what a scrape reads.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// services are the parts of the admin API that are asked, without a connection in between.
type services struct {
	nodes      adminv1.NodesServer
	lvgs       adminv1.LVGsServer
	volumes    adminv1.VolumesServer
	operations adminv1.OperationsServer
}

// RegisterService notes one of them.
func (s *services) RegisterService(_ *grpc.ServiceDesc, service any) {
	switch service := service.(type) {
	case adminv1.NodesServer:
		s.nodes = service
	case adminv1.LVGsServer:
		s.lvgs = service
	case adminv1.VolumesServer:
		s.volumes = service
	case adminv1.OperationsServer:
		s.operations = service
	}
}
