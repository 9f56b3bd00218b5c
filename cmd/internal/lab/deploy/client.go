package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"rvol/proto/clientconfig"
)

// Client is the program rvol on this machine, and the configuration with which it reaches the cluster.
type Client struct {
	Program string
	Config  string
}

// Output is where a command's words go. Nil writers discard.
type Output struct{ Stdout, Stderr io.Writer }

// Run runs one command and returns its exit status. An error means that it did not run.
func (c Client) Run(ctx context.Context, o Output, args ...string) (int, error) {
	cmd := exec.CommandContext(ctx, c.Program, args...)
	cmd.Env = append(os.Environ(), clientconfig.PathVariable+"="+c.Config)
	cmd.Stdout, cmd.Stderr = o.Stdout, o.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var refused *exec.ExitError
	if errors.As(err, &refused) && ctx.Err() == nil {
		return refused.ExitCode(), nil
	}
	if err != nil {
		return -1, fmt.Errorf("run rvol %s: %w", strings.Join(args, " "), err)
	}
	return 0, nil
}

// Text runs one command and returns what it prints; a refusal is an error with the command's reason.
func (c Client) Text(ctx context.Context, args ...string) (string, error) {
	var out, text bytes.Buffer
	code, err := c.Run(ctx, Output{Stdout: &out, Stderr: &text}, args...)
	if err == nil && code != 0 {
		err = fmt.Errorf("rvol %s: exit status %d: %s", strings.Join(args, " "), code, bytes.TrimSpace(text.Bytes()))
	}
	return strings.TrimSpace(out.String()), err
}

// Read reads what a command answers as JSON.
func (c Client) Read(ctx context.Context, into any, args ...string) error {
	text, err := c.Text(ctx, append(args, "-o", "json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("read the answer of rvol %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
