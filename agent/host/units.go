package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// Units launches tools as transient systemd units, which outlive the agent:
// whoever restarts, upgrades or kills the agent does not interrupt a command
// that changes LVM. Their output goes to files, because a pipe would break.
type Units struct {
	dir  string
	dial func(context.Context) (manager, error)
	// poll is how often a unit is looked at besides waiting for systemd's
	// word, which is lost when the connection is.
	poll time.Duration

	mu   sync.Mutex
	conn manager
	last int64
}

// manager is what we ask of systemd; *dbus.Conn is one.
type manager interface {
	Connected() bool
	StartTransientUnitContext(ctx context.Context, name, mode string, p []dbus.Property, ch chan<- string) (int, error)
	StopUnitContext(ctx context.Context, name, mode string, ch chan<- string) (int, error)
	ResetFailedUnitContext(ctx context.Context, name string) error
	KillUnitContext(ctx context.Context, name string, signal int32)
	ListUnitsByPatternsContext(ctx context.Context, states, patterns []string) ([]dbus.UnitStatus, error)
	GetUnitPropertyContext(ctx context.Context, unit, property string) (*dbus.Property, error)
	GetServicePropertyContext(ctx context.Context, service, property string) (*dbus.Property, error)
}

// UnderSystemd reports whether systemd runs this machine (sd_booted(3)).
func UnderSystemd() bool {
	info, err := os.Lstat("/run/systemd/system")
	return err == nil && info.IsDir()
}

// NewUnits returns a launcher that keeps the output of running tools in dir,
// which must outlive the agent: a folder below /run.
func NewUnits(dir string) *Units {
	dial := func(ctx context.Context) (manager, error) { return dbus.NewSystemdConnectionContext(ctx) }
	return &Units{dir: dir, dial: dial, poll: time.Second}
}

const (
	unitPrefix = "rvol-tool-"
	callTime   = 5 * time.Second // for one question to systemd
)

func (u *Units) manager(ctx context.Context) (manager, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != nil && u.conn.Connected() {
		return u.conn, nil
	}
	conn, err := u.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to systemd: %w", err)
	}
	u.conn = conn
	return conn, nil
}

// name makes a unit name that no earlier life of the agent has used.
func (u *Units) name() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last = max(u.last+1, time.Now().UnixNano())
	return unitPrefix + strconv.FormatInt(u.last, 36) + ".service"
}

// Launch starts c in a unit of its own.
func (u *Units) Launch(ctx context.Context, c Command) (Process, error) {
	m, err := u.manager(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	if err := os.MkdirAll(u.dir, 0o700); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	p := &unit{units: u, name: u.name(), argv: c.Argv, started: time.Now(), done: make(chan struct{})}
	ended := make(chan string, 1) // systemd's word must not wait for us
	_, err = m.StartTransientUnitContext(ctx, p.name, "fail", p.properties(c), ended)
	if _, refused := errors.AsType[godbus.Error](err); refused {
		return nil, fmt.Errorf("start %s in %s: %w", c.Argv[0], p.name, err)
	}
	// After any other error it may run all the same: waiting will tell.
	go p.wait(ended)
	return p, nil
}

// Left finds the units that an earlier life of the agent left running, and
// clears away those that have ended since.
func (u *Units) Left(ctx context.Context) ([]Process, error) {
	m, err := u.manager(ctx)
	if err != nil {
		return nil, err
	}
	list, err := m.ListUnitsByPatternsContext(ctx, nil, []string{unitPrefix + "*.service"})
	if err != nil {
		return nil, fmt.Errorf("list the units of tools: %w", err)
	}
	var left []Process
	for _, s := range list {
		p := &unit{units: u, name: s.Name, argv: execStart(ctx, m, s.Name), started: time.Now(), done: make(chan struct{})}
		if s.ActiveState != "activating" {
			p.clear()
			continue
		}
		go p.wait(nil)
		left = append(left, p)
	}
	return left, nil
}

// execStart reads the command of a unit; systemd shows it as (path, argv, ...).
func execStart(ctx context.Context, m manager, name string) []string {
	property, err := m.GetServicePropertyContext(ctx, name, "ExecStart")
	if err != nil {
		return []string{name}
	}
	commands, _ := property.Value.Value().([][]any)
	if len(commands) == 0 || len(commands[0]) < 2 {
		return []string{name}
	}
	argv, _ := commands[0][1].([]string)
	if len(argv) == 0 {
		return []string{name}
	}
	return append([]string{filepath.Base(argv[0])}, argv[1:]...)
}
