package agents

import (
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"rvol/coordinator/inventory"
	"rvol/coordinator/serve/collect"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	agentv1 "rvol/proto/agent/v1"
)

// Config is what the door needs.
type Config struct {
	Name       string // of this coordinator
	Store      *state.Store
	Inventory  *inventory.Inventory
	Proposer   state.Proposer
	Collects   *collect.Broker // who wants to know something of an agent
	Office     enroll.Office
	Leadership func() door.Leadership
	Volumes    adminv1.VolumesServer // the admin API, by which a node uses volumes
	Heartbeat  time.Duration         // that agents are asked for; whole seconds
	Clock      func() time.Time      // what people and certificates call now; nil: time.Now
	Loopback   bool                  // agents may have loopback addresses: a lab in one machine
	Log        *slog.Logger
}

// service answers agents.
type service struct {
	agentv1.UnimplementedAgentsServer
	Config
}

// Service registers the door with a server.
func Service(c Config) func(grpc.ServiceRegistrar) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return func(r grpc.ServiceRegistrar) { agentv1.RegisterAgentsServer(r, &service{Config: c}) }
}
