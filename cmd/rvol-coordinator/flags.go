package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"rvol/cmd/internal/program"
	"rvol/coordinator"
	"rvol/coordinator/control"
	"rvol/coordinator/decide/leftover"
	"rvol/coordinator/decide/repair"
	"rvol/coordinator/serve/limit"
	"rvol/coordinator/serve/metrics"
	"rvol/proto/clientconfig"
	"rvol/proto/identity"
)

const name = "rvol-coordinator"

// Where things are unless told otherwise.
const (
	defaultDir       = "/var/lib/rvol/coordinator"
	defaultSocket    = "/run/rvol-coordinator/local.sock"
	defaultAPI       = ":7170"
	defaultRaft      = ":7171"
	defaultMetrics   = "localhost:7172"
	defaultDashboard = "localhost:7174"
)

func parseRun(args, environ []string, out io.Writer) (coordinator.RunOptions, error) {
	var o coordinator.RunOptions
	f := program.NewFlags(name, "run", environ, out)
	f.Text(&o.Dir, "dir", defaultDir, "folder of the keys, the log and the snapshots")
	f.Text(&o.APIListen, "api-listen", defaultAPI, "where the command line and agents are answered")
	f.Text(&o.RaftListen, "raft-listen", defaultRaft, "where the other coordinators are answered")
	f.Text(&o.Socket, "socket", defaultSocket, "this machine's own socket, for admin-cert; - is none")
	f.Duration(&o.Heartbeat, "heartbeat", 5*time.Second, "how often agents are to be heard")
	f.Duration(&o.NotReadyAfter, "not-ready-after", 15*time.Second, "silence after which a node is NotReady")
	f.Duration(&o.Election, "election", time.Second, "silence of the leader after which the others elect another")
	f.Duration(&o.RemoveDead, "remove-dead-after", 0, "remove a coordinator that was silent for so long while three others vote; 0 is never")
	f.Number(&o.MaxResyncs, "max-resyncs", control.DefaultMaxResyncs, "how many volumes are copied to or from a node at a time")
	f.Number(&o.Repairs.Cluster, "max-repairs", repair.DefaultLimits().Cluster, "how many volumes are repaired at a time without being asked for")
	f.Number(&o.Repairs.PerNode, "max-repairs-per-node", repair.DefaultLimits().PerNode, "in how many of them a node takes part")
	f.Number(&o.Leftovers.Count, "max-leftovers", leftover.DefaultLimits().Count, "how many volumes' copies that were deleted while a node was away are removed there in a period, or 5 % of its copies where that is more")
	f.Duration(&o.Leftovers.Period, "leftovers-period", leftover.DefaultLimits().Period, "how long that period is")
	f.Text(&o.Metrics, "metrics", defaultMetrics, "where monitoring is answered over plain HTTP: /metrics, /livez, /readyz; - is nowhere")
	f.Number(&o.MetricsVolumes, "metrics-volumes", metrics.MaxVolumes, "of how many volumes the leader tells monitoring one by one, those first that are not well")
	f.Text(&o.Dashboard, "dashboard", defaultDashboard, "where browsers are shown the dashboard, over TLS, with a link from rvol dashboard; - is nowhere")
	f.Text(&o.DashboardCert, "dashboard-cert", "", "PEM file of the certificate that browsers are shown (default: it signs one itself)")
	f.Text(&o.DashboardKey, "dashboard-key", "", "PEM file of that certificate's key")
	clientLimits(f, &o.Limits)
	f.Switch(&o.LabLoopback, "lab-loopback", "agents may have loopback addresses: a lab in one machine")
	f.Switch(&o.Debug, "debug", "log every decision")
	f.Strict()
	err := f.Parse(args)
	if o.Socket == "-" {
		o.Socket = ""
	}
	return o, err
}

// clientLimits are the flags of what one client may ask. Machines of the cluster are not limited.
func clientLimits(f *program.Flags, l *limit.Config) {
	usual := limit.Defaults()
	f.Number(&l.Rate, "client-calls", usual.Rate, "calls a second that one person may make for long")
	f.Number(&l.Burst, "client-burst", usual.Burst, "calls that one person may make at once")
	f.Number(&l.Waiting, "client-waiting", usual.Waiting, "calls of one person that wait for their turn; more are refused")
	f.Number(&l.Streams, "client-streams", usual.Streams, "streams that one person may have open")
	f.Number(&l.Running, "calls-at-a-time", usual.Running, "calls of all people that are carried out at a time")
}

func parseInit(args, environ []string, out io.Writer) (coordinator.InitConfig, error) {
	var c coordinator.InitConfig
	f := program.NewFlags(name, "init", environ, out)
	f.Text(&c.Dir, "dir", defaultDir, "folder of the keys, the log and the snapshots")
	f.Text(&c.Cluster, "cluster", "", "name of the new cluster (default: drawn)")
	place(f, &c.Name, &c.API, &c.Raft)
	f.Text(&c.AdminConfig, "admin-config", "", "where to write the client configuration of the first admin; - is nowhere (default: yours)")
	f.Text(&c.Admin, "admin", "admin", "name of the first admin")
	if err := f.Parse(args); err != nil {
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

func parseJoin(args, environ []string, out io.Writer) (coordinator.JoinConfig, error) {
	var c coordinator.JoinConfig
	f := program.NewFlags(name, "join", environ, out)
	f.Text(&c.Dir, "dir", defaultDir, "folder of the keys, the log and the snapshots")
	f.Text(&c.Token, "token", "", "from: rvol token create coordinator")
	f.List(&c.Coordinators, "coordinator", "API address of a member; may be given several times")
	place(f, &c.Name, &c.API, &c.Raft)
	err := f.Parse(args)
	if err == nil && c.Token == "" {
		err = errors.New("give a token: --token, from: rvol token create coordinator")
	}
	return c, err
}

func parseRecover(args, environ []string, out io.Writer) (coordinator.RecoverConfig, error) {
	var c coordinator.RecoverConfig
	f := program.NewFlags(name, "recover", environ, out)
	f.Text(&c.Dir, "dir", defaultDir, "folder of the keys, the log and the snapshots")
	f.Text(&c.Confirm, "yes-i-mean", "", "name of this coordinator, to do it without asking")
	return c, f.Parse(args)
}

// adminCertOptions are what admin-cert is told.
type adminCertOptions struct {
	coordinator.AdminCert

	socket string
	out    string
}

func parseAdminCert(args, environ []string, out io.Writer) (adminCertOptions, error) {
	var o adminCertOptions
	role := ""
	f := program.NewFlags(name, "admin-cert", environ, out)
	f.Text(&o.Name, "name", "", "whose it is")
	f.Text(&role, "role", string(identity.Admin), "admin, operator or viewer")
	f.Text(&o.out, "out", "", "the client configuration to write")
	f.List(&o.Endpoints, "endpoint", "API address to ask; may be given several times (default: all coordinators)")
	f.Duration(&o.Life, "ttl", identity.MaxPersonLifetime, "how long it is good for")
	f.Text(&o.socket, "socket", defaultSocket, "this machine's own socket")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.Role = identity.Role(role)
	switch {
	case o.Name == "" || o.out == "":
		return o, errors.New("say whose it is and where to write it: --name and --out")
	case !o.Role.Person():
		return o, fmt.Errorf("--role %q: want admin, operator or viewer", role)
	}
	return o, nil
}

// place are the flags of who this coordinator is.
func place(f *program.Flags, own, api, raft *string) {
	f.Text(own, "name", "", "of this coordinator, the same for ever")
	f.Text(api, "api", "", "HOST:PORT under which the command line, agents and the others reach it")
	f.Text(raft, "raft", "", "HOST:PORT under which the others reach it")
}
