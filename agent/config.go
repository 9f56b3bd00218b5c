package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"rvol/agent/host"
	"rvol/agent/storage"
	"rvol/proto/identity"
)

// RunOptions are what the program `rvol-agent run` is told.
type RunOptions struct {
	State        string
	Coordinators []string // besides those known from joining
	Debug        bool
}

// ParseRun reads the flags of `rvol-agent run`. Each has a twin in the
// environment, RVOL_AGENT_ and its name, which the flag overrides.
func ParseRun(args []string, env func(string) string, out io.Writer) (RunOptions, error) {
	var o RunOptions
	f := newFlags("run", env, out)
	f.text(&o.State, "state", StateFolder("/"), "folder of the journal and the identity")
	f.list(&o.Coordinators, "coordinator", "API address of a coordinator, besides those known; may be given several times")
	f.flag(&o.Debug, "debug", "log every command line")
	return o, f.parse(args)
}

// ParseJoin reads the flags of `rvol-agent join`.
func ParseJoin(args []string, env func(string) string, out io.Writer) (JoinConfig, error) {
	var c JoinConfig
	var addresses, labels []string
	name, err := os.Hostname()
	if err != nil {
		return c, fmt.Errorf("find the name of this machine: %w", err)
	}
	name, _, _ = strings.Cut(name, ".")
	f := newFlags("join", env, out)
	f.text(&c.Token, "token", "", "from: rvol token create node")
	f.text(&c.Name, "name", name, "of the node in the cluster")
	f.text(&c.Zone, "zone", "", "where the node stands")
	f.text(&c.State, "state", StateFolder("/"), "folder of the journal and the identity")
	f.list(&c.Coordinators, "coordinator", "API address of a coordinator; may be given several times")
	f.list(&addresses, "address", "NETWORK=IP to replicate on; may be given several times (default: the address that leads to the coordinator)")
	f.list(&labels, "label", "KEY=VALUE for the node; may be given several times")
	f.flag(&c.Lab, "lab", "allow loopback addresses: several nodes on one machine")
	if err := f.parse(args); err != nil {
		return c, err
	}
	if c.Addresses, err = pairs("address", addresses); err != nil {
		return c, err
	}
	if c.Labels, err = pairs("label", labels); err != nil {
		return c, err
	}
	if c.Token == "" {
		return c, errors.New("give a token: --token, from: rvol token create node")
	}
	return c, nil
}

func pairs(what string, list []string) (map[string]string, error) {
	m := map[string]string{}
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" || m[key] != "" {
			return nil, fmt.Errorf("--%s %q: want NAME=VALUE, each name once", what, text)
		}
		m[key] = value
	}
	return m, nil
}

// flags are a flag set whose defaults come from the environment.
type flags struct {
	*flag.FlagSet
	env func(string) string
	err error
}

func newFlags(verb string, env func(string) string, out io.Writer) *flags {
	f := &flags{FlagSet: flag.NewFlagSet("rvol-agent "+verb, flag.ContinueOnError), env: env}
	f.SetOutput(out)
	return f
}

func (f *flags) twin(name string) string {
	return f.env("RVOL_AGENT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
}

func (f *flags) text(into *string, name, def, usage string) {
	if v := f.twin(name); v != "" {
		def = v
	}
	f.StringVar(into, name, def, usage)
}

func (f *flags) flag(into *bool, name, usage string) {
	def := false
	if v := f.twin(name); v != "" {
		b, err := strconv.ParseBool(v)
		if err != nil {
			f.err = fmt.Errorf("environment of --%s: %q is neither true nor false", name, v)
		}
		def = b
	}
	f.BoolVar(into, name, def, usage)
}

// list takes a flag several times; the environment has commas.
func (f *flags) list(into *[]string, name, usage string) {
	if v := f.twin(name); v != "" {
		*into = strings.Split(v, ",")
	}
	given := false
	f.Func(name, usage, func(v string) error {
		if !given {
			*into, given = nil, true
		}
		*into = append(*into, v)
		return nil
	})
}

func (f *flags) parse(args []string) error {
	if f.err != nil {
		return f.err
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%s: unexpected %q", f.Name(), f.Arg(0))
	}
	return nil
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
	source := identity.NewSource(credentials)
	c := Config{
		Log: log, Node: place.Name, Version: version, Root: "/", State: o.State, Machine: machine,
		Run: h.Run, Follow: follower(h), Locks: locks,
		Find:         func(tool string) error { _, err := h.Find(tool); return err },
		Stuck:        func() []string { return stuck(h) },
		Addresses:    HostAddresses(place.Addresses, scopeOf(place.Lab), log),
		Dial:         DialWith(source, TCP),
		Coordinators: slices.Concat(o.Coordinators, place.Coordinators),
		Notify:       systemd{},
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
