package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"rvol/coordinator/consensus"
	"rvol/coordinator/control"
	"rvol/coordinator/decide/leftover"
	"rvol/coordinator/decide/repair"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/limit"
	"rvol/proto/identity"
)

// Config is what a coordinator is made of. Its name and addresses stand in Dir, where
// Init or Join wrote them.
type Config struct {
	Dir string // keys, certificate, log, snapshots, audit trail; for its owner alone

	API   net.Listener // for the command line and agents; TLS is put on top
	Raft  net.Listener // for the other members; TLS is put on top
	Local net.Listener // unix socket for this user and root of this machine; nil: none

	Metrics        net.Listener // for monitoring, over plain HTTP; nil: none
	MetricsVolumes int          // of how many volumes the leader tells one by one; 0: metrics.MaxVolumes

	Dashboard Dashboard // for browsers

	// Dial reaches the API and Raft addresses of other members; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)

	// Notify tells the service manager, in sd_notify's words; nil: nobody.
	Notify   func(state string)
	Watchdog time.Duration // how often Notify wants to hear WATCHDOG=1; 0: never

	Heartbeat     time.Duration   // of agents; 5 s
	NotReadyAfter time.Duration   // of silence; 15 s
	Election      time.Duration   // Raft's heartbeat and election timeout; 1 s
	StableFor     time.Duration   // a caught-up member votes after; 10 s
	RemoveDead    time.Duration   // a coordinator silent for so long is removed while three others vote; 0: never
	MaxResyncs    int             // volumes that are copied to or from a node at a time; 4
	Repairs       repair.Limits   // at a time; 8 in the cluster, 2 per node
	Leftovers     leftover.Limits // of what was deleted while a node was away, removed in a period; 5 or 5 % in an hour
	Limits        limit.Config    // of what one client may ask; zero: limit.Defaults
	LabLoopback   bool            // agents may have loopback addresses: a lab in one machine

	Free func() (consensus.Space, error) // room under Dir; nil: its file system is asked

	// Clock is the machine's, which somebody may set: what people and certificates call now.
	// How long something lasts is measured by package time alone. Nil: time.Now.
	Clock func() time.Time

	Version string
	Log     *slog.Logger
}

func (c *Config) setDefaults() {
	setDefault(&c.Heartbeat, 5*time.Second)
	setDefault(&c.NotReadyAfter, 15*time.Second)
	setDefault(&c.Election, time.Second)
	setDefault(&c.StableFor, 10*time.Second)
	c.MaxResyncs = cmp.Or(c.MaxResyncs, control.DefaultMaxResyncs)
	c.Repairs.Cluster = cmp.Or(c.Repairs.Cluster, repair.DefaultLimits().Cluster)
	c.Repairs.PerNode = cmp.Or(c.Repairs.PerNode, repair.DefaultLimits().PerNode)
	c.Leftovers = c.Leftovers.OrDefault()
	if c.Dial == nil {
		c.Dial = dialTCP
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Notify == nil {
		c.Notify = func(string) {}
	}
}

func setDefault(d *time.Duration, to time.Duration) {
	if *d == 0 {
		*d = to
	}
}

func (c *Config) check() error {
	switch {
	case c.Dir == "" || c.API == nil || c.Raft == nil || c.Log == nil:
		return fmt.Errorf("%w: a coordinator needs a directory, two listeners and a logger", model.ErrInvalid)
	case c.MaxResyncs < 0 || c.Repairs.Cluster < 0 || c.Repairs.PerNode < 0:
		return fmt.Errorf("%w: resyncs and repairs at a time: want 1 or more, or 0 for the default", model.ErrInvalid)
	case !c.Leftovers.Sound():
		return fmt.Errorf("%w: leftovers in a period: want 1 or more, a percentage and a time, or 0 for the default", model.ErrInvalid)
	case c.NotReadyAfter < 2*c.Heartbeat:
		return fmt.Errorf("%w: not-ready-after %s: want at least two heartbeats of %s", model.ErrInvalid, c.NotReadyAfter, c.Heartbeat)
	}
	return nil
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", addr)
}

// What stands where in the directory of a coordinator.
func identityDir(dir string) identity.Dir { return identity.Dir(filepath.Join(dir, "identity")) }
func sealingFile(dir string) string       { return filepath.Join(dir, "sealing.key") }
func placeFile(dir string) string         { return filepath.Join(dir, "member.json") }
func rosterFile(dir string) string        { return filepath.Join(dir, "roster.json") }
func birthFile(dir string) string         { return filepath.Join(dir, "bootstrap.json") }
func raftDir(dir string) string           { return filepath.Join(dir, "raft") }
func auditDir(dir string) string          { return filepath.Join(dir, "audit") }
