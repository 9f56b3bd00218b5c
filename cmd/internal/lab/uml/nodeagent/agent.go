package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"

	"rvol/cmd/internal/lab/call"
	"rvol/cmd/internal/lab/uml/line"
)

// Run serves calls on the terminal dev until ctx or the terminal ends.
func Run(ctx context.Context, dev string, log *slog.Logger) error {
	// close-on-exec: lvm complains about every descriptor that it inherits; non-blocking: a deadline ends a Read
	fd, err := unix.Open(dev, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", dev, err)
	}
	tty := os.NewFile(uintptr(fd), dev)
	defer tty.Close()
	defer context.AfterFunc(ctx, func() { tty.SetReadDeadline(time.Unix(1, 0)) })() // then the end of the process does
	if err := raw(fd); err != nil {
		return fmt.Errorf("make %s raw: %w", dev, err)
	}
	for ctx.Err() == nil {
		s, err := line.Join(ctx, tty)
		if err != nil && ctx.Err() != nil {
			break
		}
		if err != nil {
			return fmt.Errorf("join %s: %w", dev, err)
		}
		if err := Serve(ctx, s); err != nil {
			log.WarnContext(ctx, "session ended", "err", err)
		}
	}
	return nil
}

func raw(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Cflag &^= unix.CSIZE | unix.PARENB
	t.Cflag |= unix.CS8 | unix.CLOCAL
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}

// Serve serves the calls of one session until it ends.
func Serve(ctx context.Context, session io.ReadWriteCloser) error {
	mux, err := yamux.Server(session, MuxConfig())
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { mux.Close() })()
	var calls sync.WaitGroup
	defer calls.Wait()
	defer mux.Close()
	for {
		c, err := mux.AcceptStreamWithContext(ctx)
		if err != nil {
			return err
		}
		calls.Go(func() { _ = call.Serve(ctx, c, handle) }) // the caller knows, and nobody else does
	}
}

func handle(ctx context.Context, r call.Request, s call.Streams, opened func() error) call.Exit {
	switch r.Op {
	case OpExec:
		var x Exec
		if err := json.Unmarshal(r.Args, &x); err != nil || len(x.Argv) == 0 {
			return call.Exit{Err: "run a command: none given"}
		}
		return run(ctx, x, s)
	case OpDial:
		var d Dial
		if err := json.Unmarshal(r.Args, &d); err != nil {
			return call.Exit{Err: "connect: no address given"}
		}
		return dial(ctx, d, s, opened)
	}
	return call.Exit{Err: fmt.Sprintf("operation %q: unknown to the agent in this node", r.Op)}
}

func dial(ctx context.Context, d Dial, s call.Streams, opened func() error) call.Exit {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", d.Address)
	if err != nil {
		return call.Exit{Err: err.Error()}
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := opened(); err != nil {
		c.Close()
		return call.Exit{Err: err.Error()}
	}
	if err := call.Join(c, s); err != nil && !errors.Is(err, net.ErrClosed) {
		return call.Exit{Err: err.Error()}
	}
	return call.Exit{}
}
