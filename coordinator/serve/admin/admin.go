package admin

import (
	"context"
	"io"
	"time"

	"google.golang.org/grpc"

	"rvol/coordinator/audit"
	"rvol/coordinator/decide/leftover"
	"rvol/coordinator/inventory"
	"rvol/coordinator/serve/collect"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// Raft is what the API asks about the members, and of them.
type Raft interface {
	Status() (RaftStatus, error)
	AddNonvoter(ctx context.Context, name, addr string) error
	Remove(ctx context.Context, name string) error
	TransferLeadership(ctx context.Context, to string) error
	Restore(ctx context.Context, head state.SnapshotHead, size int64, data io.Reader) error
}

// RaftStatus is how this coordinator sees the others.
type RaftStatus struct {
	Term, Commit, Applied uint64
	Leader                string    // name; empty: none is known
	LastContact           time.Time // with the leader; zero: never
	Failed                error     // why this coordinator takes nothing more
	Members               []RaftMember
}

// RaftMember is one member as Raft knows it.
type RaftMember struct {
	Name, Addr  string
	Voter       bool
	LastContact time.Time // as far as the leader knows; zero: not known
}

// Trail is what the API reads events from.
type Trail interface {
	Read(from uint64, limit int) ([]state.Header, error)
	Wait(ctx context.Context, after uint64) error
	First() uint64
	Last() uint64
	Verify() (audit.Report, error)
}

// Config is what the API needs.
type Config struct {
	Name       string // of this coordinator
	Store      *state.Store
	Inventory  *inventory.Inventory
	Proposer   state.Proposer
	Office     enroll.Office
	Raft       Raft
	Trail      Trail
	Leadership func() door.Leadership
	Link       func(Visitor) (*adminv1.DashboardLink, error) // lets a browser in; nil: there is no dashboard here
	Lapse      func(identity.ID) error                       // why a machine's certificate was taken though out of its time; nil: it was in it
	Clock      func() time.Time                              // what people and certificates call now; durations are measured by package time; nil: time.Now

	Leftovers leftover.Limits // of what is removed of a node in a period

	// For support bundles: agents that can be asked, and what this coordinator tells of itself.
	Collects *collect.Broker
	Self     func() any             // without secrets, to be written as JSON
	Scrape   func() ([]byte, error) // what it tells monitoring
	Secrets  func() [][]byte        // of its machine
}

// api is what every noun has.
type api struct{ Config }

func newAPI(c Config) *api {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return &api{c}
}

// Volumes is the part of the API on volumes, for another door to go through.
func Volumes(c Config) adminv1.VolumesServer { return &volumes{api: newAPI(c)} }

// Services registers the API with a server.
func Services(c Config) func(grpc.ServiceRegistrar) {
	a := newAPI(c)
	return func(r grpc.ServiceRegistrar) {
		adminv1.RegisterNodesServer(r, &nodes{api: a})
		adminv1.RegisterLVGsServer(r, &lvgs{api: a})
		adminv1.RegisterPoolsServer(r, &pools{api: a})
		adminv1.RegisterClassesServer(r, &classes{api: a})
		adminv1.RegisterVolumesServer(r, &volumes{api: a})
		adminv1.RegisterReplicasServer(r, &replicas{api: a})
		adminv1.RegisterAttachmentsServer(r, &attachments{api: a})
		adminv1.RegisterOperationsServer(r, &operations{api: a})
		adminv1.RegisterClusterServer(r, &cluster{api: a})
		adminv1.RegisterTokensServer(r, &tokens{api: a})
		adminv1.RegisterEventsServer(r, &events{api: a})
		adminv1.RegisterObjectsServer(r, &objects{api: a})
		adminv1.RegisterPlansServer(r, &plans{api: a})
		adminv1.RegisterHoldsServer(r, &holds{api: a})
		adminv1.RegisterQuotasServer(r, &quotas{api: a})
		adminv1.RegisterCertificatesServer(r, &certificates{api: a})
		adminv1.RegisterAuditServer(r, &trail{api: a})
		adminv1.RegisterOrphansServer(r, &orphans{api: a})
		adminv1.RegisterSupportServer(r, &support{api: a})
		adminv1.RegisterDashboardServer(r, &dashboard{api: a})
	}
}
