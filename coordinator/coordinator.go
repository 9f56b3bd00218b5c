package coordinator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"rvol/coordinator/audit"
	"rvol/coordinator/consensus"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve"
	"rvol/coordinator/serve/admin"
	"rvol/coordinator/serve/agents"
	"rvol/coordinator/serve/collect"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/serve/health"
	"rvol/coordinator/serve/metrics"
	"rvol/coordinator/serve/web"
	"rvol/coordinator/state"
	"rvol/proto/identity"
)

// member is one coordinator that runs.
type member struct {
	Config
	place      place
	source     *identity.Source
	office     enroll.Office
	trail      *audit.Log
	store      *state.Store
	inventory  *inventory.Inventory
	known      *acquaintances
	node       *consensus.Node
	leadership *leadership
	metrics    *metrics.Metrics
	collects   *collect.Broker
	web        *web.Server    // nil: this member serves no dashboard
	proposer   state.Proposer // node, counted
	failed     chan error     // why this process must end
}

// Run takes part in the cluster until ctx ends. An error other than nil means that this
// process cannot go on; it is never started again in the same process.
func Run(ctx context.Context, c Config) error {
	c.setDefaults()
	if err := c.check(); err != nil {
		return err
	}
	m := &member{Config: c, inventory: inventory.New(), metrics: metrics.New(c.Version), collects: collect.NewBroker(), failed: make(chan error, 1)}
	if err := m.load(); err != nil {
		return err
	}
	defer func() { _ = m.trail.Close() }() // it is derived: Raft brings back what was not written
	defer m.known.follow()()
	transport := consensus.NewTransport(consensus.NetworkConfig{
		Listener: tls.NewListener(c.Raft, m.known.in()), Advertise: m.place.Raft, Dial: m.dialRaft, Logger: c.Log,
	})
	defer func() {
		transport.CloseStreams()
		_ = transport.Close() // it only listens and dials
	}()
	if err := m.join(transport); err != nil {
		return err
	}
	err := m.serve(ctx)
	c.Notify("STOPPING=1")
	m.handOver()
	return errors.Join(err, m.node.Close())
}

// load reads what the directory holds.
func (m *member) load() (err error) {
	if m.place, err = loadPlace(m.Dir); err != nil {
		return err
	}
	own, err := identityDir(m.Dir).Load()
	if err != nil {
		return err
	}
	if m.office.Sealing, err = identity.LoadSealingKey(sealingFile(m.Dir)); err != nil {
		return err
	}
	if m.trail, err = audit.Open(audit.Config{Dir: auditDir(m.Dir), Logger: m.Log}); err != nil {
		return err
	}
	m.store = state.NewStore(state.Options{Sink: m.trail})
	m.source = identity.NewSource(own)
	m.known = &acquaintances{dir: m.Dir, store: m.store, source: m.source, clock: m.Clock, log: m.Log, lapsed: map[identity.ID]error{}}
	m.known.saved, err = loadRoster(m.Dir)
	return err
}

// join starts Raft, on what it finds or as the first member of a new cluster.
func (m *member) join(t consensus.Transport) (err error) {
	m.node, err = consensus.New(consensus.Config{
		ID: m.place.Name, Dir: raftDir(m.Dir), Transport: t, Store: m.store, Logger: m.Log,
		HeartbeatTimeout: m.Election, ElectionTimeout: m.Election, StableFor: m.StableFor, Free: m.Free, Clock: m.Clock,
		OnFatal: func(err error) { m.failed <- err },
	})
	if err != nil {
		return err
	}
	m.proposer = m.metrics.Proposer(m.node)
	m.leadership = newLeadership(m.node, m.store)
	if _, born, err := loadBirth(m.Dir); err != nil || !born {
		return err
	}
	err = m.node.Bootstrap(consensus.Server{ID: m.place.Name, Addr: m.place.Raft})
	if err != nil && !errors.Is(err, model.ErrExists) {
		return err
	}
	return nil
}

func (m *member) dialRaft(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := m.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, m.known.out())
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the handshake's error says why
		return nil, fmt.Errorf("speak Raft to %s: %w", addr, err)
	}
	return secure, nil
}

// serve runs everything until ctx ends or something fails for good.
func (m *member) serve(ctx context.Context) error {
	look, err := m.dashboard()
	if err != nil {
		return err
	}
	api := admin.Services(m.admin())
	m.measure(api)
	server := serve.New(serve.Config{
		In: m.known.api(), Out: m.known.out(), Known: m.known.key, Clock: m.Clock, Cluster: m.leadership,
		Store: m.store, Dial: m.Dial, Log: m.Log,
		Services: []func(grpc.ServiceRegistrar){api, agents.Service(m.agents()), health.Service(m.ready)},
		Limits:   m.Limits,
		Called:   m.metrics.Called,
	})
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return server.Serve(ctx, m.API) })
	g.Go(func() error { m.lead(ctx); return nil })
	g.Go(func() error { m.renew(ctx); return nil })
	g.Go(func() error { m.feedWatchdog(ctx); return nil })
	g.Go(func() error {
		select {
		case err := <-m.failed:
			return fmt.Errorf("%w: %w", model.ErrStopped, err)
		case <-ctx.Done():
			return nil
		}
	})
	if m.Metrics != nil {
		g.Go(func() error { m.probe(ctx); return nil })
	}
	if m.web != nil {
		g.Go(func() error { return look.serve(ctx, server) })
	}
	if m.Local != nil {
		g.Go(func() error { return m.serveLocal(ctx) })
	}
	m.Notify("READY=1")
	return g.Wait()
}

// handOver spares the others an election, if this member leads.
func (m *member) handOver() {
	if !m.leadership.Leadership().Leading {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := m.node.TransferLeadership(ctx, ""); err != nil {
		m.Log.Debug("leadership was not handed over", "err", err)
	}
}

func (m *member) feedWatchdog(ctx context.Context) {
	if m.Watchdog == 0 {
		return
	}
	tick := time.NewTicker(m.Watchdog / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.store.Index() // hangs with the state, and so keeps the dog hungry
			m.Notify("WATCHDOG=1")
		case <-ctx.Done():
			return
		}
	}
}
