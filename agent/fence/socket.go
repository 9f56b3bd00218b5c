package fence

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Socket is where the agent listens for the kernel's handler, below the root.
const Socket = "run/rvol-agent/fence.sock"

// Listen opens the socket, for root alone. One that a dead agent left is
// replaced.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for DRBD's handler: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Serve answers handlers until ctx ends.
func (a *Arbiter) Serve(ctx context.Context, l net.Listener) error {
	var calls sync.WaitGroup
	defer calls.Wait()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })() // Accept returns then
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen for DRBD's handler: %w", err)
		}
		calls.Go(func() { a.serve(ctx, conn) })
	}
}

// serve reads a resource's name and writes an exit code, one line each.
func (a *Arbiter) serve(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }() // the handler has read what it waits for, or is gone
	line, err := bufio.NewReaderSize(conn, 512).ReadString('\n')
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(conn, "%d\n", a.Handle(ctx, strings.TrimSpace(line))) // a handler that is gone has answered 1
}

// Call is the handler's side: it asks the agent and returns the exit code.
// Whatever goes wrong is Refused, and said.
func Call(ctx context.Context, path, resource string) (int, error) {
	if resource == "" || strings.ContainsAny(resource, "\n\r") {
		return Refused, errors.New("DRBD_RESOURCE does not name a resource: this is for DRBD to call, as its fence-peer handler")
	}
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "unix", path)
	if err != nil {
		return Refused, fmt.Errorf("ask the agent about %s: is rvol-agent.service running? %w", resource, err)
	}
	defer func() { _ = conn.Close() }() // nothing is in flight any more
	if err := conn.SetDeadline(time.Now().Add(3 * patience)); err != nil {
		return Refused, err
	}
	if _, err := fmt.Fprintln(conn, resource); err != nil {
		return Refused, fmt.Errorf("ask the agent about %s: %w", resource, err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return Refused, fmt.Errorf("read the agent's answer about %s: %w", resource, err)
	}
	code, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || code != Granted && code != Outdate {
		return Refused, nil
	}
	return code, nil
}
