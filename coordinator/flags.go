package coordinator

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"rvol/proto/clientconfig"
	"rvol/proto/identity"
)

// Where things are unless told otherwise.
const (
	DefaultDir    = "/var/lib/rvol/coordinator"
	DefaultSocket = "/run/rvol-coordinator/local.sock"
	defaultAPI    = ":7170"
	defaultRaft   = ":7171"
)

// RunOptions are what the program `rvol-coordinator run` is told.
type RunOptions struct {
	Dir           string
	APIListen     string
	RaftListen    string
	Socket        string // empty: none
	Heartbeat     time.Duration
	NotReadyAfter time.Duration
	LabLoopback   bool
	Debug         bool
}

// ParseRun reads the flags of `rvol-coordinator run`. Each has a twin in the environment,
// RVOL_COORDINATOR_ and its name, which the flag overrides.
func ParseRun(args []string, env func(string) string, out io.Writer) (RunOptions, error) {
	var o RunOptions
	f := newFlags("run", env, out)
	f.text(&o.Dir, "dir", DefaultDir, "folder of the keys, the log and the snapshots")
	f.text(&o.APIListen, "api-listen", defaultAPI, "where the command line and agents are answered")
	f.text(&o.RaftListen, "raft-listen", defaultRaft, "where the other coordinators are answered")
	f.text(&o.Socket, "socket", DefaultSocket, "this machine's own socket, for admin-cert; - is none")
	f.duration(&o.Heartbeat, "heartbeat", 5*time.Second, "how often agents are to be heard")
	f.duration(&o.NotReadyAfter, "not-ready-after", 15*time.Second, "silence after which a node is NotReady")
	f.flag(&o.LabLoopback, "lab-loopback", "agents may have loopback addresses: a lab in one machine")
	f.flag(&o.Debug, "debug", "log every decision")
	err := f.parse(args)
	if o.Socket == "-" {
		o.Socket = ""
	}
	return o, err
}

// ParseInit reads the flags of `rvol-coordinator init`.
func ParseInit(args []string, env func(string) string, out io.Writer) (InitConfig, error) {
	var c InitConfig
	f := newFlags("init", env, out)
	f.text(&c.Dir, "dir", DefaultDir, "folder of the keys, the log and the snapshots")
	f.text(&c.Cluster, "cluster", "", "name of the new cluster (default: drawn)")
	f.place(&c.Name, &c.API, &c.Raft)
	f.text(&c.AdminConfig, "admin-config", "", "where to write the client configuration of the first admin; - is nowhere (default: yours)")
	f.text(&c.Admin, "admin", "admin", "name of the first admin")
	if err := f.parse(args); err != nil {
		return c, err
	}
	switch c.AdminConfig {
	case "-":
		c.AdminConfig = ""
		return c, nil
	case "":
		path, err := clientconfig.Path()
		if err != nil {
			return c, fmt.Errorf("%w: say where with --admin-config", err)
		}
		c.AdminConfig = path
	}
	if _, err := os.Stat(c.AdminConfig); err == nil {
		return c, fmt.Errorf("%s exists and may be another cluster's: name another file with --admin-config", c.AdminConfig)
	}
	return c, nil
}

// ParseJoin reads the flags of `rvol-coordinator join`.
func ParseJoin(args []string, env func(string) string, out io.Writer) (JoinConfig, error) {
	var c JoinConfig
	f := newFlags("join", env, out)
	f.text(&c.Dir, "dir", DefaultDir, "folder of the keys, the log and the snapshots")
	f.text(&c.Token, "token", "", "from: rvol token create coordinator")
	f.list(&c.Coordinators, "coordinator", "API address of a member; may be given several times")
	f.place(&c.Name, &c.API, &c.Raft)
	err := f.parse(args)
	if err == nil && c.Token == "" {
		err = errors.New("give a token: --token, from: rvol token create coordinator")
	}
	return c, err
}

// AdminCertOptions are what `rvol-coordinator admin-cert` is told.
type AdminCertOptions struct {
	AdminCert
	Socket string
	Out    string
}

// ParseAdminCert reads the flags of `rvol-coordinator admin-cert`.
func ParseAdminCert(args []string, env func(string) string, out io.Writer) (AdminCertOptions, error) {
	var o AdminCertOptions
	role := ""
	f := newFlags("admin-cert", env, out)
	f.text(&o.Name, "name", "", "whose it is")
	f.text(&role, "role", string(identity.Admin), "admin, operator or viewer")
	f.text(&o.Out, "out", "", "the client configuration to write")
	f.list(&o.Endpoints, "endpoint", "API address to ask; may be given several times (default: all coordinators)")
	f.duration(&o.Life, "ttl", identity.MaxPersonLifetime, "how long it is good for")
	f.text(&o.Socket, "socket", DefaultSocket, "this machine's own socket")
	if err := f.parse(args); err != nil {
		return o, err
	}
	o.Role = identity.Role(role)
	switch {
	case o.Name == "" || o.Out == "":
		return o, errors.New("say whose it is and where to write it: --name and --out")
	case !o.Role.Person():
		return o, fmt.Errorf("--role %q: want admin, operator or viewer", role)
	}
	return o, nil
}

// flags are a flag set whose defaults come from the environment.
type flags struct {
	*flag.FlagSet
	env func(string) string
	err error
}

func newFlags(verb string, env func(string) string, out io.Writer) *flags {
	f := &flags{FlagSet: flag.NewFlagSet("rvol-coordinator "+verb, flag.ContinueOnError), env: env}
	f.SetOutput(out)
	return f
}

func (f *flags) twin(name string) string {
	return f.env("RVOL_COORDINATOR_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
}

func (f *flags) text(into *string, name, def, usage string) {
	if v := f.twin(name); v != "" {
		def = v
	}
	f.StringVar(into, name, def, usage)
}

// place are the flags of who this coordinator is.
func (f *flags) place(name, api, raft *string) {
	f.text(name, "name", "", "of this coordinator, the same for ever")
	f.text(api, "api", "", "HOST:PORT under which the command line, agents and the others reach it")
	f.text(raft, "raft", "", "HOST:PORT under which the others reach it")
}

func (f *flags) duration(into *time.Duration, name string, def time.Duration, usage string) {
	if v := f.twin(name); v != "" {
		d, err := time.ParseDuration(v)
		f.note(name, v, "a duration", err)
		def = d
	}
	f.DurationVar(into, name, def, usage)
}

func (f *flags) flag(into *bool, name, usage string) {
	def := false
	if v := f.twin(name); v != "" {
		b, err := strconv.ParseBool(v)
		f.note(name, v, "true or false", err)
		def = b
	}
	f.BoolVar(into, name, def, usage)
}

func (f *flags) note(name, value, want string, err error) {
	if err != nil {
		f.err = errors.Join(f.err, fmt.Errorf("environment of --%s: %q is not %s", name, value, want))
	}
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
