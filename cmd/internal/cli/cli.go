package cli

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"google.golang.org/grpc"
)

// Env is the outside world of a command. Zero fields stand for the process's own: its standard streams, its
// environment, its clock, TLS connections as the client configuration says.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// Dial connects to one endpoint. It need not wait until the connection stands.
	Dial func(ctx context.Context, endpoint string) (grpc.ClientConnInterface, error)
	// Endpoints are used when neither --endpoint nor a configuration file names any. Only with Dial.
	Endpoints []string

	// Open shows a link in a browser; nil: there is none.
	Open func(ctx context.Context, link string) error

	Getenv     func(name string) string
	Now        func() time.Time
	IsTerminal func(stream any) bool // asked about Stdin, Stdout and Stderr
}

// New makes the command tree. Its commands return errors for [Run] to print; most callers want Run.
func New(env Env) *cobra.Command {
	return newApp(env).root()
}

// Run runs one command and returns its exit status. Cancelling ctx is Ctrl-C.
func Run(ctx context.Context, env Env, args []string) int {
	a := newApp(env)
	defer a.client.close()
	root := a.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return a.exit(ctx, cmd, err)
}

func (e Env) withDefaults() Env {
	if e.Stdin == nil {
		e.Stdin = os.Stdin
	}
	if e.Stdout == nil {
		e.Stdout = os.Stdout
	}
	if e.Stderr == nil {
		e.Stderr = os.Stderr
	}
	if e.Getenv == nil {
		e.Getenv = os.Getenv
	}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.IsTerminal == nil {
		e.IsTerminal = isTerminal
	}
	return e
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
