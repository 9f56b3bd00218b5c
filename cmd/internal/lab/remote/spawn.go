package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"rvol/cmd/internal/lab"
)

// Plan is what the background process is told on its standard input.
type Plan struct {
	World  string
	Config lab.Config
}

// readyFD is where the background process says that it listens.
const readyFD = 3

// Spawn starts argv in the background, in a session of its own, and returns when it serves. The process calls Background.
func Spawn(ctx context.Context, p Plan, argv ...string) (*Client, error) {
	dir := p.Config.Dir
	c := Connect(dir)
	if c.Runs(ctx) {
		return nil, fmt.Errorf("start lab %s: it runs already: rvol-lab down ends it", p.Config.Name)
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("remove what an earlier lab left: %w", err)
	}
	if err := makeRunDir(dir); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(LogFile(dir), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the lab: %w", err)
	}
	defer log.Close()
	plan, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the lab: %w", err)
	}
	defer r.Close()
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...) // it outlives the command that starts it
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(plan), log, log
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("start the lab: %w", err)
	}
	if said, _ := io.ReadAll(r); len(said) == 0 {
		text, _ := os.ReadFile(LogFile(dir))
		return nil, fmt.Errorf("start the lab: %s (%w)", strings.TrimSpace(string(text)), cmd.Wait())
	}
	return c, cmd.Process.Release()
}

// makeRunDir makes the run folder in a parent that nobody else can write to: in /tmp another user might have been there first.
func makeRunDir(dir string) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("make the run folder: %w", err)
	}
	info, err := os.Stat(parent)
	if err != nil {
		return fmt.Errorf("make the run folder: %w", err)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Getuid() {
		return fmt.Errorf("make the run folder: %s belongs to another user (uid %d)", parent, s.Uid)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make the run folder: %w", err)
	}
	return nil
}

// Background is the process that Spawn starts: it reads its plan, makes the world, and serves it until it is down.
func Background(ctx context.Context, in io.Reader, worlds lab.Worlds, log *slog.Logger) error {
	ready := os.NewFile(readyFD, "ready")
	defer ready.Close()
	syscall.CloseOnExec(readyFD)
	var p Plan
	if err := json.NewDecoder(in).Decode(&p); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	makeWorld, ok := worlds[p.World]
	if !ok {
		return fmt.Errorf("make a world %q: there is none of that name", p.World)
	}
	w, err := makeWorld(p.Config)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", SocketFile(p.Config.Dir))
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	if _, err := ready.WriteString("serving\n"); err != nil {
		return errors.Join(err, l.Close())
	}
	ready.Close()
	return Serve(ctx, l, w, p.Config.Dir, log)
}
