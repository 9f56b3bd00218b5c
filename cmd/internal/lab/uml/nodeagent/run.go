package nodeagent

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"syscall"
	"time"

	"rvol/cmd/internal/lab/call"
)

// A command that ends but leaves its output open in a background process is waited for this long.
const outputGrace = 2 * time.Second

var baseEnv = [...]string{
	"PATH=/opt/rvol/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/root", "USER=root", "LC_ALL=C", "TERM=dumb",
}

// run runs one command in a process group of its own, which ends when the caller goes away.
func run(ctx context.Context, x Exec, s call.Streams) call.Exit {
	cmd := exec.CommandContext(ctx, x.Argv[0], x.Argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = append(baseEnv[:], x.Env...)
	cmd.Stdout, cmd.Stderr = s.Stdout, s.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputGrace
	// not cmd.Stdin: Wait would wait for input that the command never asks for
	in, err := cmd.StdinPipe()
	if err != nil {
		return call.Exit{Err: err.Error()}
	}
	if err := cmd.Start(); err != nil {
		return call.Exit{Code: 127, Err: err.Error()}
	}
	go func() {
		_, _ = io.Copy(in, s.Stdin) // a command need not read all its input
		in.Close()
	}()
	return exit(cmd.Wait(), cmd)
}

func exit(err error, cmd *exec.Cmd) call.Exit {
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return call.Exit{Code: 128 + int(ws.Signal())}
	}
	if e := new(exec.ExitError); err != nil && !errors.As(err, &e) && !errors.Is(err, exec.ErrWaitDelay) {
		return call.Exit{Err: err.Error()}
	}
	return call.Exit{Code: cmd.ProcessState.ExitCode()}
}
