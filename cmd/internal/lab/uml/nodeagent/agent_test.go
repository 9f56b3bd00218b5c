package nodeagent_test

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
	"github.com/hashicorp/yamux"

	"rvol/cmd/internal/lab/call"
	"rvol/cmd/internal/lab/uml/nodeagent"
)

// agent serves a session in this process and returns the launcher's end of it.
func agent(t *testing.T) *yamux.Session {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		nodeagent.Serve(context.Background(), far) // it ends with the pipe, after the test's context
	}()
	mux, err := yamux.Client(near, nodeagent.MuxConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mux.Close(); <-done })
	return mux
}

func exec(t *testing.T, mux *yamux.Session, x nodeagent.Exec, stdin io.Reader) (e call.Exit, out, text string) {
	t.Helper()
	c, err := mux.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	var o, s bytes.Buffer
	e, err = call.Do(t.Context(), c, call.Request{Op: nodeagent.OpExec, Args: args}, call.Streams{Stdin: stdin, Stdout: &o, Stderr: &s})
	if err != nil {
		t.Fatal(err)
	}
	return e, o.String(), s.String()
}

func TestACommandsStreamsAndExitCodeComeBack(t *testing.T) {
	mux := agent(t)
	for _, c := range []struct {
		name  string
		exec  nodeagent.Exec
		stdin string
		want  call.Exit
		out   string
		text  string
	}{
		{"output, errors and code apart", nodeagent.Exec{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}}, "", call.Exit{Code: 3}, "out\n", "err\n"},
		{"input", nodeagent.Exec{Argv: []string{"cat"}}, "given", call.Exit{}, "given", ""},
		{"input nobody reads", nodeagent.Exec{Argv: []string{"true"}}, strings.Repeat("x", 1<<20), call.Exit{}, "", ""},
		{"a signal", nodeagent.Exec{Argv: []string{"sh", "-c", "kill -9 $$"}}, "", call.Exit{Code: 137}, "", ""},
		{"the environment is small and fixed", nodeagent.Exec{Argv: []string{"sh", "-c", "echo $LC_ALL $X $PWD"}, Env: []string{"X=y"}}, "", call.Exit{}, "C y /\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, out, text := exec(t, mux, c.exec, strings.NewReader(c.stdin))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if out != c.out || text != c.text {
				t.Errorf("output %q, errors %q", out, text)
			}
		})
	}
}

func TestACommandThatIsNotThereIs127WithTheReason(t *testing.T) {
	got, _, _ := exec(t, agent(t), nodeagent.Exec{Argv: []string{"no-such-tool"}}, nil)
	if got.Code != 127 || !strings.Contains(got.Err, "no-such-tool") {
		t.Errorf("%+v", got)
	}
}

func TestACommandEndsWhenItsCallerGoesAway(t *testing.T) {
	mux := agent(t)
	c, err := mux.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(nodeagent.Exec{Argv: []string{"sh", "-c", "echo $$; exec sleep 1000"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pid := make(chan string, 1)
	go call.Do(ctx, c, call.Request{Op: nodeagent.OpExec, Args: args}, call.Streams{Stdout: lineTo(pid)}) // it is broken off
	p := <-pid
	cancel()
	for deadline := time.Now().Add(time.Minute); ; {
		e, _, _ := exec(t, mux, nodeagent.Exec{Argv: []string{"sh", "-c", "kill -0 " + p}}, nil)
		if e.Code != 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the command still runs")
		}
	}
}

func TestACallToAnAgentThatNoLongerAnswersEndsWithItsContext(t *testing.T) {
	near, far := net.Pipe()
	go io.Copy(io.Discard, far) // until the session is closed
	mux, err := yamux.Client(near, nodeagent.MuxConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	defer mux.Close()
	c, err := mux.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := call.Do(ctx, c, call.Request{Op: nodeagent.OpExec}, call.Streams{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

type lineTo chan string

func (l lineTo) Write(b []byte) (int, error) {
	l <- strings.TrimSpace(string(b))
	return len(b), nil
}

func TestACallThatStallsHoldsNoOtherUp(t *testing.T) {
	mux := agent(t)
	c, err := mux.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// endless output that nobody takes
	frame := `{"Op":"exec","Args":{"Argv":["yes"]}}`
	if _, err := c.Write(append([]byte{'R', 0, 0, 0, byte(len(frame))}, frame...)); err != nil {
		t.Fatal(err)
	}
	if got, out, _ := exec(t, mux, nodeagent.Exec{Argv: []string{"echo", "still here"}}, nil); got.Err != "" || out != "still here\n" {
		t.Error(got, out)
	}
}

func TestAPortIsReachedThroughTheAgent(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		c, err := l.Accept()
		if err != nil {
			return
		}
		io.Copy(c, c) // the test sees what came
		c.Close()
	}()
	mux := agent(t)
	s, err := mux.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	c, err := call.Dial(t.Context(), s, call.Request{Op: nodeagent.OpDial, Args: json.RawMessage(`{"Address":"` + l.Addr().String() + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("echo")); err != nil {
		t.Fatal(err)
	}
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != "echo" {
		t.Errorf("%q, %v", got, err)
	}
	<-served
	l.Close()

	if s, err = mux.OpenStream(); err != nil {
		t.Fatal(err)
	}
	_, err = call.Dial(t.Context(), s, call.Request{Op: nodeagent.OpDial, Args: json.RawMessage(`{"Address":"` + l.Addr().String() + `"}`)})
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a closed port: %v", err)
	}
}
