// Command rvol-coordinator is a member of the control plane of an rvol cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"rvol/cmd/internal/version"
)

const usage = `rvol-coordinator decides where the volumes of an rvol cluster live.

Usage:
  rvol-coordinator init --name NAME --api HOST:PORT --raft HOST:PORT    make a new cluster, of which this is the first member
  rvol-coordinator join --token TOKEN --coordinator HOST:PORT
                        --name NAME --api HOST:PORT --raft HOST:PORT    become a member of a cluster that runs
  rvol-coordinator run                                                  be that member; the systemd unit does this
  rvol-coordinator admin-cert --name NAME --role ROLE --out FILE        make a client configuration for somebody
  rvol-coordinator version

Every flag has a twin in the environment: --dir is RVOL_COORDINATOR_DIR.
Show the flags of a verb with: rvol-coordinator VERB --help
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
	verbs := map[string]func(context.Context, []string) error{
		"run": serve, "init": initialize, "join": join, "admin-cert": adminCert,
		"version": func(context.Context, []string) error { fmt.Println("rvol-coordinator " + version.String()); return nil },
		"help":    func(context.Context, []string) error { fmt.Print(usage); return nil },
	}
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" {
		args = []string{"help"}
	}
	verb, ok := verbs[args[0]]
	if !ok {
		report(os.Stderr, fmt.Errorf("unknown verb %q: rvol-coordinator help", args[0]))
		return misused
	}
	err := verb(ctx, args[1:])
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &misuse{}):
		report(os.Stderr, err)
		return misused
	}
	report(os.Stderr, err)
	return failed
}

func report(w io.Writer, err error) { _, _ = fmt.Fprintln(w, "rvol-coordinator:", err) }

// misuse is an error in how the program was called.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }
