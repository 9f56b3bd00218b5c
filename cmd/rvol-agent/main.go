// Command rvol-agent runs on every storage node of an rvol cluster.
package main

import (
	"context"
	"fmt"
	"os"

	"rvol/agent"
	"rvol/cmd/internal/program"
	"rvol/cmd/internal/version"
)

const usage = `rvol-agent holds the volumes of an rvol cluster on this machine.

Usage:
  rvol-agent join --token TOKEN --coordinator HOST:PORT   make this machine a node of a cluster
  rvol-agent run                                          be that node; the systemd unit does this
  rvol-agent attach VOLUME                                use a volume on this node, and wait until it can be; rvol-attach@.service
  rvol-agent detach VOLUME                                end that, and wait until it has ended
  rvol-agent fence-peer                                   DRBD's handler: may this copy go on without the other?
  rvol-agent version

Every flag has a twin in the environment: --state is RVOL_AGENT_STATE.
Show the flags of a verb with: rvol-agent VERB --help
`

func main() {
	program.Program{
		Name: name, Usage: usage,
		Verbs: map[string]func(context.Context, []string) error{
			"run": run, "join": join, "attach": attach, "detach": detach, "fence-peer": fencePeer,
		},
	}.Main()
}

func run(ctx context.Context, args []string) error {
	o, err := parseRun(args, os.Environ(), os.Stderr)
	if err != nil {
		return program.Misuse{Err: err}
	}
	c, err := agent.OnThisMachine(ctx, o, version.String(), program.Log(o.Debug))
	if err != nil {
		return err
	}
	return agent.Run(ctx, c)
}

func join(ctx context.Context, args []string) error {
	c, err := parseJoin(args, os.Environ(), os.Stderr)
	if err != nil {
		return program.Misuse{Err: err}
	}
	p, err := agent.Join(ctx, c)
	if err != nil {
		return err
	}
	fmt.Printf("node %s has joined cluster %s\nnext: systemctl enable --now rvol-agent\n", p.Name, p.Cluster)
	return nil
}

func attach(ctx context.Context, args []string) error {
	u, err := parseUse("attach", args, os.Environ(), os.Stderr)
	if err != nil {
		return program.Misuse{Err: err}
	}
	u.Log = program.Log(false)
	device, err := u.Attach(ctx)
	if err == nil {
		fmt.Printf("volume %s is attached: %s\n", u.Volume, device)
	}
	return err
}

func detach(ctx context.Context, args []string) error {
	u, err := parseUse("detach", args, os.Environ(), os.Stderr)
	if err != nil {
		return program.Misuse{Err: err}
	}
	u.Log = program.Log(false)
	err = u.Detach(ctx)
	if err == nil {
		fmt.Printf("volume %s is detached\n", u.Volume)
	}
	return err
}

// fencePeer is run by DRBD, which reads the exit code.
func fencePeer(ctx context.Context, _ []string) error {
	code, err := agent.FencePeer(ctx, os.Getenv)
	return program.Exit{Code: code, Err: err}
}
