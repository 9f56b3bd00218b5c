package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Children launches tools as children of this process, each in its own process
// group.
type Children struct{}

// Left finds nothing: children are not found again.
func (Children) Left(context.Context) ([]Process, error) { return nil, nil }

// Launch starts c.
func (Children) Launch(_ context.Context, c Command) (Process, error) {
	p := &child{argv: c.Argv, started: time.Now(), done: make(chan struct{})}
	// Not CommandContext: who may be killed, and when, is for Host to say.
	p.cmd = &exec.Cmd{
		Path: c.Path, Args: c.Argv, Env: environment(), Dir: "/",
		Stdout: &p.stdout, Stderr: &p.stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
		// A daemon that the tool left behind may keep the pipes open.
		WaitDelay: 2 * time.Second,
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	go p.wait()
	return p, nil
}

type child struct {
	argv    []string
	cmd     *exec.Cmd
	started time.Time
	stdout  limited
	stderr  limited
	done    chan struct{}
	err     error
}

func (p *child) Argv() []string        { return p.argv }
func (p *child) Pid() int              { return p.cmd.Process.Pid }
func (p *child) Unit() string          { return "" }
func (p *child) Started() time.Time    { return p.started }
func (p *child) Done() <-chan struct{} { return p.done }

// Kill ends the process group. It may be gone already.
func (p *child) Kill() { _ = syscall.Kill(-p.Pid(), syscall.SIGKILL) }

func (p *child) wait() {
	p.err = p.cmd.Wait()
	close(p.done)
}

func (p *child) Result() Result {
	r := Result{Stdout: p.stdout.buf.Bytes(), Stderr: p.stderr.buf.Bytes()}
	exit, isExit := errors.AsType[*exec.ExitError](p.err)
	switch {
	case p.stdout.overflow || p.stderr.overflow:
		r.Err = ErrOutputTooLong
	case isExit:
		r.Code = exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			r.Signal = status.Signal().String()
		}
	case p.err != nil && !errors.Is(p.err, exec.ErrWaitDelay):
		r.Err = p.err
	}
	return r
}

// limited keeps the first maxOutput bytes and swallows the rest, so that the
// tool is not stopped half-way by a full pipe.
type limited struct {
	buf      bytes.Buffer
	overflow bool
}

func (l *limited) Write(b []byte) (int, error) {
	if room := maxOutput - l.buf.Len(); len(b) > room {
		l.overflow = true
		l.buf.Write(b[:room])
		return len(b), nil
	}
	return l.buf.Write(b)
}
