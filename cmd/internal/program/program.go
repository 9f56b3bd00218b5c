package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"rvol/cmd/internal/version"
)

// A Program is the command line of a service.
type Program struct {
	Name  string
	Usage string // what help prints
	Verbs map[string]func(ctx context.Context, args []string) error
}

// Exit codes.
const (
	failed  = 1
	misused = 2
)

// Main runs the verb that the process was called with, until it ends or is told to, and
// exits.
func (p Program) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func (p Program) run(ctx context.Context, args []string) int {
	err := p.do(ctx, args)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	exit, own := errors.AsType[Exit](err)
	if own && exit.Err == nil {
		return exit.Code
	}
	_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err) // there is nobody else to tell
	switch {
	case own:
		return exit.Code
	case errors.As(err, &Misuse{}):
		return misused
	}
	return failed
}

func (p Program) do(ctx context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{"help"}
	}
	switch verb, known := p.Verbs[args[0]]; {
	case known:
		return verb(ctx, args[1:])
	case args[0] == "version":
		fmt.Println(p.Name + " " + version.String())
	case args[0] == "help", args[0] == "--help", args[0] == "-h":
		fmt.Print(p.Usage)
	default:
		return Misuse{fmt.Errorf("unknown verb %q: %s help", args[0], p.Name)}
	}
	return nil
}

// Log is the log of a service: on standard error, which the journal reads.
func Log(debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// Misuse is an error in how the program was called.
type Misuse struct{ Err error }

func (m Misuse) Error() string { return m.Err.Error() }

// Unwrap is the error itself.
func (m Misuse) Unwrap() error { return m.Err }

// Exit is the end of a verb whose exit code is its answer.
type Exit struct {
	Code int
	Err  error // told beside it; nil: nothing is
}

func (e Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap is what is told.
func (e Exit) Unwrap() error { return e.Err }
