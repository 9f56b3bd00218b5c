// Command rvol-agent runs on every storage node of an rvol cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"rvol/agent"
	"rvol/cmd/internal/version"
)

const usage = `rvol-agent holds the volumes of an rvol cluster on this machine.

Usage:
  rvol-agent join --token TOKEN --coordinator HOST:PORT   make this machine a node of a cluster
  rvol-agent run                                          be that node; the systemd unit does this
  rvol-agent version

Every flag has a twin in the environment: --state is RVOL_AGENT_STATE.
Show the flags of a verb with: rvol-agent VERB --help
`

// Exit codes.
const (
	failed  = 1
	misused = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		args = []string{"help"}
	}
	var err error
	switch args[0] {
	case "run":
		err = serve(ctx, args[1:])
	case "join":
		err = join(ctx, args[1:])
	case "version":
		fmt.Println("rvol-agent " + version.String())
	case "help", "--help", "-h":
		fmt.Print(usage)
	default:
		err = misuse{fmt.Errorf("unknown verb %q: rvol-agent help", args[0])}
	}
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &misuse{}):
		report(err)
		return misused
	}
	report(err)
	return failed
}

// report tells the caller; there is nobody to tell when that fails.
func report(err error) { _, _ = fmt.Fprintln(os.Stderr, "rvol-agent:", err) }

// misuse is an error in how the program was called.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

func serve(ctx context.Context, args []string) error {
	o, err := agent.ParseRun(args, os.Getenv, os.Stderr)
	if err != nil {
		return misuse{err}
	}
	level := slog.LevelInfo
	if o.Debug {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	c, err := agent.OnThisMachine(ctx, o, version.String(), log)
	if err != nil {
		return err
	}
	return agent.Run(ctx, c)
}

func join(ctx context.Context, args []string) error {
	c, err := agent.ParseJoin(args, os.Getenv, os.Stderr)
	if err != nil {
		return misuse{err}
	}
	p, err := agent.Join(ctx, c)
	if err != nil {
		return err
	}
	fmt.Printf("node %s has joined cluster %s\nnext: systemctl enable --now rvol-agent\n", p.Name, p.Cluster)
	return nil
}
