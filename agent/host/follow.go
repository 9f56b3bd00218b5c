package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// maxLine caps a line of a followed tool, in bytes.
const maxLine = 1 << 20

// Follow runs a tool that speaks line by line, such as `drbdsetup events2`, and
// hands each line over without its end. The slice is valid during the call
// only. It returns when the tool ends, which is an error even with status 0
// (ErrEnded), or when ctx ends; the whole process group is gone then.
func (h *Host) Follow(ctx context.Context, line func([]byte), argv ...string) error {
	path, err := h.find(argv[0])
	if err != nil {
		return err
	}
	var stderr limited
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Env, cmd.Dir, cmd.Stderr = argv, environment(), "/", &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("follow %s: %w", argv[0], err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("follow %s: %w", argv[0], err)
	}
	h.log.DebugContext(ctx, "following a tool", "argv", argv)

	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		line(lines.Bytes())
	}
	if lines.Err() != nil {
		_ = cmd.Cancel() // it may have ended already
	}
	err = cmd.Wait()
	exit, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case lines.Err() != nil:
		return fmt.Errorf("follow %s: %w", argv[0], lines.Err())
	case isExit:
		return &ExitError{argv: argv, code: exit.ExitCode(), stderr: stderr.buf.Bytes()}
	case err != nil:
		return fmt.Errorf("follow %s: %w", argv[0], err)
	default:
		return fmt.Errorf("follow %s: %w", argv[0], ErrEnded)
	}
}

// ErrEnded says that a followed tool ended by itself, without complaint.
var ErrEnded = errors.New("tool has ended")
