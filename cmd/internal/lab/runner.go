package lab

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
)

// CodeNotFound is the exit code that Exec returns, with an error, for a command that is not there.
const CodeNotFound = 127

// An ExitError is a command on a node that refused.
type ExitError struct {
	Node string
	Tool string
	Code int
	Text []byte // what it wrote on standard error
}

// Error implements error.
func (e *ExitError) Error() string {
	return fmt.Sprintf("%s on %s: exit status %d: %s", e.Tool, e.Node, e.Code, bytes.TrimSpace(e.Text))
}

// ExitCode is the command's exit code.
func (e *ExitError) ExitCode() int { return e.Code }

// Stderr is what the command wrote on standard error.
func (e *ExitError) Stderr() []byte { return e.Text }

// Runner runs tools on a node, for packages that speak the language of tools and run nothing: it returns what a tool prints on standard output,
// and an *ExitError when the tool refuses. A tool that is not there is fs.ErrNotExist.
func Runner(w World, node string) func(ctx context.Context, argv ...string) ([]byte, error) {
	return func(ctx context.Context, argv ...string) ([]byte, error) {
		var out, text bytes.Buffer
		code, err := w.Exec(ctx, node, Command{Argv: argv, Stdout: &out, Stderr: &text})
		switch {
		case err != nil && code == CodeNotFound:
			err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
		case err == nil && code != 0:
			err = &ExitError{Node: node, Tool: argv[0], Code: code, Text: text.Bytes()}
		}
		return out.Bytes(), err
	}
}
