package call_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/cmd/internal/lab/call"
)

// serve starts a handler for one call and returns the caller's end.
func serve(t *testing.T, h call.Handler) net.Conn {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call.Serve(context.Background(), far, h) // a broken call is what some tests want; the context must outlive the test
	}()
	t.Cleanup(func() { near.Close(); <-done })
	return near
}

func TestACallCarriesInputOutputErrorsAndTheExit(t *testing.T) {
	big := strings.Repeat("0123456789", 20_000) // several frames
	c := serve(t, func(_ context.Context, r call.Request, s call.Streams, _ func() error) call.Exit {
		in, err := io.ReadAll(s.Stdin)
		if err != nil {
			return call.Exit{Err: err.Error()}
		}
		s.Stdout.Write(in)                        // the test sees what came
		s.Stderr.Write([]byte("op " + r.Op))      // the test sees what came
		s.Stderr.Write(append(r.Args, " end"...)) // the test sees what came
		return call.Exit{Code: 7, Result: json.RawMessage(`{"a":1}`)}
	})
	var out, text bytes.Buffer
	x, err := call.Do(t.Context(), c, call.Request{Op: "x", Args: json.RawMessage(`[1]`)},
		call.Streams{Stdin: strings.NewReader(big), Stdout: &out, Stderr: &text})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(call.Exit{Code: 7, Result: json.RawMessage(`{"a":1}`)}, x); diff != "" {
		t.Error(diff)
	}
	if out.String() != big {
		t.Errorf("%d bytes came back of %d", out.Len(), len(big))
	}
	if got := text.String(); got != "op x[1] end" {
		t.Errorf("standard error: %q", got)
	}
}

func TestACallNeedsNoInputAndNoOutput(t *testing.T) {
	c := serve(t, func(_ context.Context, _ call.Request, s call.Streams, _ func() error) call.Exit {
		in, err := io.ReadAll(s.Stdin)
		if len(in) != 0 || err != nil {
			return call.Exit{Err: "input where there is none"}
		}
		s.Stdout.Write([]byte("nobody reads this")) // nobody does
		return call.Exit{}
	})
	if x, err := call.Do(t.Context(), c, call.Request{Op: "x"}, call.Streams{}); err != nil || x.Err != "" {
		t.Error(x, err)
	}
}

func TestACommandThatReadsNoInputEndsAllTheSame(t *testing.T) {
	near, far := socketpair(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		call.Serve(context.Background(), far,
			func(context.Context, call.Request, call.Streams, func() error) call.Exit { return call.Exit{Code: 3} })
	}()
	endless, w := io.Pipe()
	defer w.Close()
	go func() {
		for {
			if _, err := w.Write(make([]byte, 1000)); err != nil {
				return
			}
		}
	}()
	x, err := call.Do(t.Context(), near, call.Request{Op: "x"}, call.Streams{Stdin: endless})
	endless.Close()
	if err != nil || x.Code != 3 {
		t.Error(x, err)
	}
	<-done
}

func socketpair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return near, far
}

func TestACallerThatGoesAwayEndsTheCommand(t *testing.T) {
	ended := make(chan error, 1)
	started := make(chan struct{})
	c := serve(t, func(ctx context.Context, _ call.Request, _ call.Streams, _ func() error) call.Exit {
		close(started)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return call.Exit{}
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := call.Do(ctx, c, call.Request{Op: "x"}, call.Streams{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller was told %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("the handler's context ended without a cause")
	}
}

func TestAServerThatGoesAwayIsAnError(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		io.ReadFull(far, make([]byte, 10)) // it dies in the middle
		far.Close()
	}()
	if _, err := call.Do(t.Context(), near, call.Request{Op: "x"}, call.Streams{}); err == nil {
		t.Error("no error")
	}
}

func TestAStreamIsAConnection(t *testing.T) {
	c := serve(t, func(_ context.Context, _ call.Request, s call.Streams, opened func() error) call.Exit {
		near, far := net.Pipe()
		go func() {
			b := make([]byte, 4)
			io.ReadFull(far, b)                      // the test sees what came
			far.Write(append([]byte("echo "), b...)) // the test sees what came
			far.Close()
		}()
		if err := opened(); err != nil {
			return call.Exit{Err: err.Error()}
		}
		if err := call.Join(near, s); err != nil {
			return call.Exit{Err: err.Error()}
		}
		return call.Exit{}
	})
	s, err := call.Dial(t.Context(), c, call.Request{Op: "dial"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// a deadline that passes must not tear a frame
	s.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) // a pipe can
	if _, err := s.Read(make([]byte, 1)); err == nil {
		t.Fatal("read something before anything was said")
	}
	s.SetReadDeadline(time.Time{}) // a pipe can
	if _, err := s.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(s)
	if err != nil || string(got) != "echo ping" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAStreamThatCannotBeOpenedSaysWhy(t *testing.T) {
	c := serve(t, func(context.Context, call.Request, call.Streams, func() error) call.Exit {
		return call.Exit{Err: "connection refused"}
	})
	if _, err := call.Dial(t.Context(), c, call.Request{Op: "dial"}); err == nil || err.Error() != "connection refused" {
		t.Error(err)
	}
}

func FuzzServeTakesAnyBytes(f *testing.F) {
	f.Add([]byte("R\x00\x00\x00\x0b{\"Op\":\"x\"}"))
	f.Add([]byte("R\xff\xff\xff\xff"))
	f.Add([]byte("D\x00\x00\x00\x01x"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		near, far := net.Pipe()
		go func() {
			near.Write(b) // the server may hang up
			near.Close()
		}()
		call.Serve(context.Background(), far, // garbage is refused; the context has no end
			func(context.Context, call.Request, call.Streams, func() error) call.Exit { return call.Exit{} })
	})
}
