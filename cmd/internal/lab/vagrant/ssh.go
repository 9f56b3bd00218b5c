package vagrant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"rvol/cmd/internal/lab"
)

// lost is how ssh says that it did not reach the machine, or lost it.
const lost = 255

// Exec implements lab.World: as root, by ssh and sudo.
func (w *World) Exec(ctx context.Context, node string, c lab.Command) (int, error) {
	if _, err := index(node); err != nil {
		return 0, err
	}
	if len(c.Argv) == 0 {
		return 0, errors.New("run a command: none given")
	}
	var text bytes.Buffer
	words := append(append([]string{"sudo", "env"}, c.Env...), c.Argv...)
	for i, word := range words {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	cmd := exec.CommandContext(ctx, "ssh", "-F", w.sshConfig(), "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=10", node, strings.Join(words, " "))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, &text
	if c.Stderr != nil { // who may be the same as c.Stdout
		var turn sync.Mutex
		cmd.Stderr = turns{&turn, io.MultiWriter(c.Stderr, &text)}
		if c.Stdout != nil {
			cmd.Stdout = turns{&turn, c.Stdout}
		}
	}
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err == nil:
		return 0, nil
	case !errors.As(err, &ended):
		return 0, fmt.Errorf("reach %s: %w", node, err)
	case ended.ExitCode() == lost:
		return 0, fmt.Errorf("reach %s: %s", node, tail(text.String()))
	case ended.ExitCode() == lab.CodeNotFound:
		return lab.CodeNotFound, fmt.Errorf("run %s on %s: %s", c.Argv[0], node, tail(text.String()))
	}
	return ended.ExitCode(), nil
}

// turns lets several write one after the other.
type turns struct {
	turn *sync.Mutex
	to   io.Writer
}

func (t turns) Write(p []byte) (int, error) {
	t.turn.Lock()
	defer t.turn.Unlock()
	return t.to.Write(p)
}

// must runs a command that is to succeed.
func (w *World) must(ctx context.Context, node string, argv ...string) error {
	var text bytes.Buffer
	code, err := w.Exec(ctx, node, lab.Command{Argv: argv, Stdout: &text, Stderr: &text})
	if err == nil && code != 0 {
		err = fmt.Errorf("on %s: exit status %d: %s", node, code, tail(text.String()))
	}
	return err
}

// Push implements lab.World.
func (w *World) Push(ctx context.Context, node, src, dst string) error {
	if !path.IsAbs(dst) {
		return fmt.Errorf("push %s to %s: %s is not an absolute path", src, node, dst)
	}
	r, wr, err := os.Pipe()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	pack := exec.CommandContext(ctx, "tar", "-cf", "-", "--owner=0", "--group=0",
		"--transform", "flags=r;s|^"+filepath.Base(src)+"|"+path.Base(dst)+"|", "-C", filepath.Dir(src), filepath.Base(src))
	pack.Stdout, pack.Stderr = wr, &said
	if err := errors.Join(pack.Start(), wr.Close()); err != nil {
		return errors.Join(fmt.Errorf("push %s: %w", src, err), r.Close())
	}
	var text bytes.Buffer
	code, err := w.Exec(ctx, node, lab.Command{
		Argv:  []string{"sh", "-c", `mkdir -p "$1" && tar -xf - --no-same-owner -C "$1" && sync -f "$1"`, "push", path.Dir(dst)},
		Stdin: r, Stdout: &text, Stderr: &text,
	})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status %d: %s", code, tail(text.String()))
	}
	if err = errors.Join(err, r.Close(), pack.Wait()); err != nil {
		return fmt.Errorf("push %s to %s:%s: %w %s", src, node, dst, err, tail(said.String()))
	}
	return nil
}

// Logs implements lab.World.
func (w *World) Logs(ctx context.Context, node string, out io.Writer) error {
	_, err := w.Exec(ctx, node, lab.Command{
		Argv:   []string{"journalctl", "--no-pager", "-b", "-o", "short-precise", "-u", "rvol*"},
		Stdout: out, Stderr: out,
	})
	if err != nil {
		fmt.Fprintf(out, "--- %s: no journal: %v\n", node, err) // one that is off has none
	}
	return nil
}
