package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"rvol/coordinator/decide/leftover"
	"rvol/coordinator/decide/repair"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/limit"
	"rvol/proto/probe"
)

// RunOptions are what the program `rvol-coordinator run` is told.
type RunOptions struct {
	Dir            string
	APIListen      string
	RaftListen     string
	Socket         string // empty: none
	Heartbeat      time.Duration
	NotReadyAfter  time.Duration
	Election       time.Duration
	RemoveDead     time.Duration
	Metrics        string // - is none
	MetricsVolumes int
	MaxResyncs     int
	Repairs        repair.Limits
	Leftovers      leftover.Limits
	Dashboard      string // - is none
	DashboardCert  string // PEM files; empty: it signs one itself
	DashboardKey   string
	Limits         limit.Config
	LabLoopback    bool
	Debug          bool
}

// OnThisMachine is the Config of a coordinator on the real machine; Run closes its listeners.
func OnThisMachine(ctx context.Context, o RunOptions, version string, log *slog.Logger) (c Config, err error) {
	if _, err := os.Stat(placeFile(o.Dir)); errors.Is(err, fs.ErrNotExist) {
		return c, errNoPlace
	}
	c = Config{
		Dir: o.Dir, Heartbeat: o.Heartbeat, NotReadyAfter: o.NotReadyAfter, Election: o.Election, RemoveDead: o.RemoveDead, LabLoopback: o.LabLoopback,
		MetricsVolumes: o.MetricsVolumes, MaxResyncs: o.MaxResyncs, Repairs: o.Repairs, Leftovers: o.Leftovers, Limits: o.Limits,
		Version: version, Log: log,
		Notify: func(state string) {
			if _, err := daemon.SdNotify(false, state); err != nil {
				log.WarnContext(ctx, "service manager was not told", "err", err)
			}
		},
	}
	if c.Watchdog, err = daemon.SdWatchdogEnabled(false); err != nil {
		return c, fmt.Errorf("read the watchdog's interval: %w", err)
	}
	if err := c.listen(ctx, o); err != nil {
		return c, errors.Join(err, c.closeListeners())
	}
	return c, nil
}

// listen opens the doors.
func (c *Config) listen(ctx context.Context, o RunOptions) (err error) {
	var listen net.ListenConfig
	if c.API, err = listen.Listen(ctx, "tcp", o.APIListen); err != nil {
		return fmt.Errorf("listen for the command line and agents: %w", err)
	}
	if c.Raft, err = listen.Listen(ctx, "tcp", o.RaftListen); err != nil {
		return fmt.Errorf("listen for the other coordinators: %w", err)
	}
	if c.Metrics, err = probe.Listen(ctx, o.Metrics, c.Log); err != nil {
		return err
	}
	if c.Dashboard, err = listenDashboard(ctx, o, c.Log); err != nil || o.Socket == "" {
		return err
	}
	c.Local, err = listenLocal(ctx, o.Socket)
	return err
}

func (c *Config) closeListeners() error {
	var errs []error
	for _, l := range []net.Listener{c.API, c.Raft, c.Metrics, c.Dashboard.Listener} {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// listenLocal opens the machine's own socket. Anybody may connect: the kernel says who
// they are, and that decides.
func listenLocal(ctx context.Context, path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of an earlier run: %w", err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%w: listen on this machine's own socket: %w: name another with --socket", model.ErrInvalid, err)
	}
	if err := os.Chmod(path, 0o666); err != nil { // who connects is asked of the kernel
		return nil, errors.Join(fmt.Errorf("open the socket to this machine: %w", err), l.Close())
	}
	return l, nil
}
