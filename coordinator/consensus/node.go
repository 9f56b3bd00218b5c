package consensus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Transport carries messages between members: NewTransport, or raft.InmemTransport.
type Transport interface {
	raft.Transport
	raft.WithPreVote
}

// Config is what a member of a cluster is made of.
type Config struct {
	ID        string // name of this member, the same for ever
	Dir       string // for the log, the vote and snapshots; made 0700
	Transport Transport
	Store     *state.Store
	Logger    *slog.Logger

	// OnFatal is called once, from the goroutine that met it, when this process must
	// not go on: a disk failed, or the log holds what this binary does not know. It
	// should end the process with a status other than 0.
	OnFatal func(error)

	// Zero values are what a coordinator uses.
	HeartbeatTimeout  time.Duration         // without a leader for so long: ask for votes; 1 s
	ElectionTimeout   time.Duration         // without a result for so long: ask again; 1 s
	SnapshotThreshold uint64                // log entries between snapshots; 8192
	SnapshotInterval  time.Duration         // between looks at the threshold; 2 min
	TrailingLogs      uint64                // entries kept behind a snapshot; 10240
	StableFor         time.Duration         // a caught-up non-voter becomes a voter after; 10 s
	Stores            *Stores               // in place of those in Dir
	Free              func() (Space, error) // of the file system under Dir
	Clock             func() time.Time      // that a leader writes into entries; time.Now
}

const logCache = 512 // entries

// Node is this process's member of the cluster.
type Node struct {
	cfg      Config
	log      *slog.Logger
	raft     *raft.Raft
	stores   *Stores
	logs     raft.LogStore // cached
	guard    *guard
	store    *state.Store
	progress *progress
	proposed chan *proposal

	leadership leadership
	stop       context.CancelFunc
	stopped    context.Context
	tasks      sync.WaitGroup
}

var _ state.Proposer = (*Node)(nil)

// New opens the stores, proves that the log is intact, and takes part.
func New(cfg Config) (*Node, error) {
	if cfg.ID == "" || cfg.Transport == nil || cfg.Store == nil || cfg.Logger == nil || cfg.OnFatal == nil {
		return nil, fmt.Errorf("%w: a member needs an id, a transport, a store, a logger and somebody to tell of failure", model.ErrInvalid)
	}
	cfg.setDefaults()
	n := &Node{cfg: cfg, log: cfg.Logger, store: cfg.Store, guard: &guard{onFatal: cfg.OnFatal}}
	n.progress = newProgress(cfg.Transport)
	n.proposed = make(chan *proposal)
	n.leadership.changed = make(chan struct{})
	n.stopped, n.stop = context.WithCancel(context.Background())
	if err := n.open(); err != nil {
		n.stop()
		return nil, fmt.Errorf("start member %s: %w", cfg.ID, err)
	}
	n.tasks.Go(n.propose)
	n.tasks.Go(n.watchLeadership)
	n.tasks.Go(n.promote)
	return n, nil
}

func (n *Node) open() error {
	var err error
	if n.stores, err = openStores(n.cfg, n.guard); err != nil {
		return err
	}
	if n.logs, err = raft.NewLogCache(logCache, n.stores.Log); err != nil {
		return errors.Join(err, n.stores.close())
	}
	err = notPanicking(func() (err error) {
		n.raft, err = raft.NewRaft(n.cfg.raft(), &fsm{store: n.store, guard: n.guard}, n.logs, n.stores.Stable, n.stores.Snapshots, n.progress)
		return err
	})
	if err != nil {
		return errors.Join(err, n.stores.close())
	}
	return nil
}

func (c *Config) setDefaults() {
	d := raft.DefaultConfig()
	setDefault(&c.HeartbeatTimeout, d.HeartbeatTimeout)
	setDefault(&c.ElectionTimeout, max(d.ElectionTimeout, c.HeartbeatTimeout))
	setDefault(&c.SnapshotThreshold, d.SnapshotThreshold)
	setDefault(&c.SnapshotInterval, d.SnapshotInterval)
	setDefault(&c.TrailingLogs, d.TrailingLogs)
	setDefault(&c.StableFor, 10*time.Second)
	if c.Free == nil {
		c.Free = func() (Space, error) { return spaceOf(c.Dir) }
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func (c *Config) raft() *raft.Config {
	r := raft.DefaultConfig()
	r.LocalID = raft.ServerID(c.ID)
	r.HeartbeatTimeout, r.ElectionTimeout = c.HeartbeatTimeout, c.ElectionTimeout
	r.LeaderLeaseTimeout = c.HeartbeatTimeout / 2
	r.CommitTimeout = min(r.CommitTimeout, c.HeartbeatTimeout/10)
	r.SnapshotThreshold, r.SnapshotInterval, r.TrailingLogs = c.SnapshotThreshold, c.SnapshotInterval, c.TrailingLogs
	r.Logger = newLogger(c.Logger)
	r.NoLegacyTelemetry = true
	return r
}

// Close leaves without a word to the others and waits for everything it started. The
// transport stays open: it belongs to who made it.
func (n *Node) Close() error {
	n.stop()
	err := n.raft.Shutdown().Error()
	n.tasks.Wait()
	return errors.Join(err, n.stores.close())
}

// Server is one member as it is known to Raft.
type Server struct {
	ID   string
	Addr string // host:port for the other members
}

// Bootstrap makes the first members of a new cluster. It is for one of them, once.
func (n *Node) Bootstrap(servers ...Server) error {
	err := n.raft.BootstrapCluster(configuration(servers)).Error()
	if errors.Is(err, raft.ErrCantBootstrap) {
		return fmt.Errorf("bootstrap %s: %w: there is a log in %s", n.cfg.ID, model.ErrExists, n.cfg.Dir)
	}
	if err != nil {
		return fmt.Errorf("bootstrap %s: %w", n.cfg.ID, err)
	}
	return nil
}

func configuration(servers []Server) raft.Configuration {
	var c raft.Configuration
	for _, s := range servers {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(s.ID), Address: raft.ServerAddress(s.Addr)})
	}
	return c
}
