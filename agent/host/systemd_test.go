package host

import (
	"context"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// notifySocket is systemd's end of sd_notify.
func notifySocket(t *testing.T) *net.UnixConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return conn
}

func receive(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	b := make([]byte, 4096)
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func TestNotifications(t *testing.T) {
	conn := notifySocket(t)
	for want, send := range map[string]func() error{
		"READY=1\nSTATUS=2 groups": func() error { return Ready("2 groups") },
		"STATUS=waiting":           func() error { return Status("waiting") },
		"STOPPING=1":               Stopping,
	} {
		if err := send(); err != nil {
			t.Fatal(err)
		}
		if got := receive(t, conn); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWithoutSystemdNothingIsNotified(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "")
	if err := Ready("up"); err != nil {
		t.Error(err)
	}
	if err := Watchdog(t.Context(), func() bool { return true }); err != nil {
		t.Error(err)
	}
}

func TestWatchdogIsFedWhileAlive(t *testing.T) {
	conn := notifySocket(t)
	t.Setenv("WATCHDOG_USEC", "20000")
	t.Setenv("WATCHDOG_PID", "")
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	done := make(chan error)
	go func() {
		done <- Watchdog(ctx, func() bool { return asked.Add(1) > 2 })
	}()
	if got := receive(t, conn); got != "WATCHDOG=1" {
		t.Errorf("got %q", got)
	}
	if n := asked.Load(); n < 3 {
		t.Errorf("fed after %d questions, though not alive", n)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWatchdogOfNonsense(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "soon")
	t.Setenv("WATCHDOG_PID", "")
	if err := Watchdog(t.Context(), func() bool { return true }); err == nil {
		t.Error("no error")
	}
}
