package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"rvol/agent"
	"rvol/cmd/internal/program"
)

const name = "rvol-agent"

const defaultMetrics = "localhost:7173"

func parseRun(args, environ []string, out io.Writer) (agent.RunOptions, error) {
	var o agent.RunOptions
	f := program.NewFlags(name, "run", environ, out)
	f.Text(&o.State, "state", agent.StateFolder("/"), "folder of the journal and the identity")
	f.List(&o.Coordinators, "coordinator", "API address of a coordinator, besides those known; may be given several times")
	f.Text(&o.Metrics, "metrics", defaultMetrics, "where monitoring is answered over plain HTTP: /metrics, /livez, /readyz; - is nowhere")
	f.Text(&o.Health, "health", "", "IP:PORT where this node's coordinators ask whether its agent lives: /livez, /readyz (default: port 7175 of its first replication address)")
	f.Switch(&o.Debug, "debug", "log every command line")
	f.Strict("RVOL_AGENT_FENCE_SOCKET")
	err := f.Parse(args)
	return o, err
}

func parseJoin(args, environ []string, out io.Writer) (agent.JoinConfig, error) {
	var c agent.JoinConfig
	var addresses, labels []string
	host, err := os.Hostname()
	if err != nil {
		return c, fmt.Errorf("find the name of this machine: %w", err)
	}
	host, _, _ = strings.Cut(host, ".")
	f := program.NewFlags(name, "join", environ, out)
	f.Text(&c.Token, "token", "", "from: rvol token create node")
	f.Text(&c.Name, "name", host, "of the node in the cluster")
	f.Text(&c.Zone, "zone", "", "where the node stands")
	f.Text(&c.State, "state", agent.StateFolder("/"), "folder of the journal and the identity")
	f.List(&c.Coordinators, "coordinator", "API address of a coordinator; may be given several times")
	f.List(&addresses, "address", "NETWORK=IP to replicate on; may be given several times (default: the address that leads to the coordinator)")
	f.List(&labels, "label", "KEY=VALUE for the node; may be given several times")
	f.Switch(&c.Lab, "lab", "allow loopback addresses: several nodes on one machine")
	if err := f.Parse(args); err != nil {
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

// parseUse reads the arguments of attach and detach: a volume, and flags.
func parseUse(verb string, args, environ []string, out io.Writer) (agent.Use, error) {
	var u agent.Use
	f := program.NewFlags(name, verb, environ, out)
	f.Text(&u.State, "state", agent.StateFolder("/"), "folder of the journal and the identity")
	f.List(&u.Coordinators, "coordinator", "API address of a coordinator, besides those known; may be given several times")
	f.Duration(&u.Timeout, "timeout", 0, "give up after so long; 0 is never")
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		u.Volume, args = args[0], args[1:]
	}
	err := f.Parse(args)
	if err == nil && u.Volume == "" {
		err = fmt.Errorf("name a volume: %s %s VOLUME", name, verb)
	}
	return u, err
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
