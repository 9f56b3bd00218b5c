package sim

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// connected is a connection from a to b, with both ends.
func connected(t *testing.T, n *network) (a, b net.Conn) {
	t.Helper()
	l, err := n.listen("b:1")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			got <- c
		}
	}()
	a, err = n.dial(t.Context(), "a", "b:1")
	if err != nil {
		t.Fatal(err)
	}
	return a, <-got
}

func TestBytesArriveInOrderAndTheEndComesLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := connected(t, newNetwork())
		want := make([]byte, 3*window)
		for i := range want {
			want[i] = byte(i * 7)
		}
		go func() {
			if _, err := a.Write(want); err != nil {
				t.Error(err)
			}
			_ = a.Close()
		}()
		got, err := io.ReadAll(b)
		if err != nil || string(got) != string(want) {
			t.Errorf("%d bytes, %v; want %d", len(got), err, len(want))
		}
	})
}

func TestACutLinkStallsAndHeals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, b := connected(t, n)
		n.disturb("a", "b")
		_ = a.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := a.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write over a cut link: %v", err)
		}
		_ = a.SetWriteDeadline(time.Time{})
		start := time.Now()
		time.AfterFunc(time.Minute, n.heal)
		if _, err := a.Write([]byte("y")); err != nil || time.Since(start) < time.Minute {
			t.Errorf("write: %v after %v, want it to wait for the link", err, time.Since(start))
		}
		one := make([]byte, 2)
		if k, err := b.Read(one); string(one[:k]) != "y" || err != nil {
			t.Errorf("read %q, %v", one[:k], err)
		}
		_, _ = a.Close(), b.Close()
	})
}

func TestDialing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		if _, err := n.dial(t.Context(), "a", "b:1"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens: %v", err)
		}
		a, b := connected(t, n)
		if _, err := n.listen("b:1"); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("listen twice: %v", err)
		}
		n.disturb("b", "a") // one way is enough: the answer is lost
		start := time.Now()
		if _, err := n.dial(t.Context(), "a", "b:1"); !errors.Is(err, syscall.ETIMEDOUT) || time.Since(start) != dialTimeout {
			t.Errorf("over a cut link: %v after %v", err, time.Since(start))
		}
		n.silence("b")
		if _, err := n.dial(t.Context(), "c", "b:1"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a host without power: %v", err)
		}
		if _, err := b.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write on a host without power: %v", err)
		}
		_ = a.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the other end noticed: %v", err)
		}
		_ = a.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		n.disturb("c", "d")
		if _, err := n.dial(ctx, "c", "d:1"); err == nil {
			t.Error("dialed with a cancelled context")
		}
	})
}
