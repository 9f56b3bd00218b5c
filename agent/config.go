package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"rvol/agent/host"
	"rvol/agent/storage"
	"rvol/proto/identity"
	"rvol/proto/probe"
)

// RunOptions are what the program `rvol-agent run` is told.
type RunOptions struct {
	State        string
	Coordinators []string // besides those known from joining
	Metrics      string   // where monitoring is answered; - is nowhere
	Health       string   // where the coordinators ask whether the agent lives; empty: the usual
	Debug        bool
}

// toolOutput is where running tools leave their output; it outlives the agent.
const toolOutput = "/run/rvol-agent/tools"

// OnThisMachine is the Config of an agent on the real machine.
func OnThisMachine(ctx context.Context, o RunOptions, version string, log *slog.Logger) (Config, error) {
	place, err := LoadPlace(o.State)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, identity.ErrNoCredentials
	}
	if err != nil {
		return Config{}, err
	}
	credentials, err := IdentityDir(o.State).Load()
	if err != nil {
		return Config{}, err
	}
	machine, err := host.ReadMachine("/")
	if err != nil {
		return Config{}, err
	}
	h, locks, err := tools(ctx, log)
	if err != nil {
		return Config{}, err
	}
	health, err := healthAddress(o.Health, place.Addresses)
	if err != nil {
		return Config{}, err
	}
	source := identity.NewSource(credentials)
	c := Config{
		Log: log, Node: place.Name, Version: version, Root: "/", State: o.State, Machine: machine,
		Run: h.Run, Follow: follower(h), Locks: locks,
		Find:         func(tool string) error { _, err := h.Find(tool); return err },
		Stuck:        func() []string { return stuck(h) },
		Addresses:    HostAddresses(place.Addresses, scopeOf(place.Lab), log),
		Dial:         DialWith(source, TCP, nil),
		Coordinators: slices.Concat(o.Coordinators, place.Coordinators),
		Notify:       systemd{},
		Health:       HostHealth(health, scopeOf(place.Lab)),
		Expiry:       source.Expiry,
	}
	if c.Metrics, err = probe.Listen(ctx, o.Metrics, log); err != nil {
		return Config{}, err
	}
	renewal := Renewal{State: o.State, Source: source, Coordinators: c.Coordinators, Dial: c.Dial, Log: log}
	c.Tasks = []func(context.Context) error{renewal.Run}
	return c, nil
}

// tools makes the runner of tools, and takes over those that an earlier life of
// the agent left running.
func tools(ctx context.Context, log *slog.Logger) (*host.Host, *storage.Locks, error) {
	c := host.Config{Log: log}
	if host.UnderSystemd() {
		c.Changes = host.NewUnits(toolOutput)
	}
	h, locks := host.New(c), storage.NewLocks()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	left, err := h.Adopt(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("find tools left running: %w", err)
	}
	for _, s := range left {
		locks.Keep(s)
	}
	return h, locks, nil
}

// follower lets the one who reads end the tool.
func follower(h *host.Host) func(context.Context, []string, func([]byte) error) error {
	return func(ctx context.Context, argv []string, line func([]byte) error) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		err := h.Follow(ctx, func(b []byte) {
			if ctx.Err() == nil {
				if err := line(b); err != nil {
					cancel(err)
				}
			}
		}, argv...)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
}

func stuck(h *host.Host) []string {
	var list []string
	for _, s := range h.Stuck() {
		list = append(list, s.String())
	}
	return list
}

// systemd is the Notifier of a unit with Type=notify.
type systemd struct{}

func (systemd) Ready(status string) error { return host.Ready(status) }
func (systemd) Status(text string) error  { return host.Status(text) }
func (systemd) Stopping() error           { return host.Stopping() }
func (systemd) Watchdog(ctx context.Context, alive func() bool) error {
	return host.Watchdog(ctx, alive)
}
