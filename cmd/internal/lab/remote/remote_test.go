package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/remote"
)

// fake is a world that writes down what it is told.
type fake struct {
	mu   sync.Mutex
	told []string
	upTo error
}

func (f *fake) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, fmt.Sprintf(format, args...))
	return nil
}

func (f *fake) Up(_ context.Context, progress io.Writer) error {
	fmt.Fprintln(progress, "booting") // the test sees it
	return f.upTo
}

func (f *fake) Exec(_ context.Context, node string, c lab.Command) (int, error) {
	if node == "n9" {
		return lab.CodeNotFound, errors.New("no such tool")
	}
	io.Copy(c.Stdout, c.Stdin)                              // the test sees it
	fmt.Fprint(c.Stderr, node, c.Argv, c.Env, " on stderr") // the test sees it
	return 5, nil
}
func (f *fake) Kill(_ context.Context, n string) error       { return f.note("kill %s", n) }
func (f *fake) Start(_ context.Context, n string) error      { return f.note("start %s", n) }
func (f *fake) Stop(context.Context, string) error           { return errors.New("it does not stop") }
func (f *fake) Disturb(_ context.Context, x lab.Fault) error { return f.note("disturb %+v", x) }
func (f *fake) Heal(context.Context) error                   { return f.note("heal") }
func (f *fake) Push(_ context.Context, n, src, dst string) error {
	return f.note("push %s %s %s", n, src, dst)
}
func (f *fake) Down(context.Context) error { return f.note("down") }

func (f *fake) Logs(_ context.Context, n string, w io.Writer) error {
	_, err := io.WriteString(w, "logs of "+n)
	return err
}

func (f *fake) Status(context.Context) (lab.Status, error) {
	return lab.Status{World: "fake", Nodes: []lab.NodeStatus{{Name: "n1", Booted: time.Second}}}, nil
}

func (f *fake) Dial(_ context.Context, node string, port int) (net.Conn, error) {
	if port != 80 {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	go func() {
		b := make([]byte, 4)
		io.ReadFull(far, b)                            // the test sees what came
		far.Write([]byte(node + " says " + string(b))) // the test sees what came
		far.Close()
	}()
	return near, nil
}

// serve serves a world and returns a client; the server has ended when the test has.
func serve(t *testing.T, w lab.World) (c *remote.Client, dir string, ended <-chan error) {
	t.Helper()
	parent, err := os.MkdirTemp("", "rl") //nolint:usetesting // TempDir is too long for a unix socket
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(parent, "lab")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", remote.SocketFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) // Cleanup waits for what it ends
	end, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		end <- remote.Serve(ctx, l, w, dir, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() { cancel(); <-done; os.RemoveAll(parent) })
	return remote.Connect(dir), dir, end
}

func TestAWorldIsUsedThroughItsSocket(t *testing.T) {
	f := &fake{}
	c, dir, ended := serve(t, f)
	ctx := t.Context()
	var progress, out, text, logs bytes.Buffer
	if err := c.Up(ctx, &progress); err != nil || progress.String() != "booting\n" {
		t.Error(err, &progress)
	}
	code, err := c.Exec(ctx, "n1", lab.Command{Argv: []string{"a", "b"}, Env: []string{"X=y"}, Stdin: strings.NewReader("in"), Stdout: &out, Stderr: &text})
	if got := fmt.Sprint(code, err, " ", &out, " ", &text); got != "5 <nil> in n1[a b] [X=y] on stderr" {
		t.Error(got)
	}
	for _, err := range []error{
		c.Kill(ctx, "n1"), c.Start(ctx, "n1"), c.Disturb(ctx, lab.Fault{A: "n1", Cut: true, Delay: time.Second}), c.Heal(ctx),
		c.Push(ctx, "n1", "/a", "/b"), c.Logs(ctx, "n2", &logs),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if logs.String() != "logs of n2" {
		t.Error(&logs)
	}
	if err := c.Stop(ctx, "n1"); err == nil || err.Error() != "it does not stop" {
		t.Error(err)
	}
	s, err := c.Status(ctx)
	if diff := cmp.Diff(lab.Status{World: "fake", Nodes: []lab.NodeStatus{{Name: "n1", Booted: time.Second}}}, s); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if err := c.Down(ctx); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := []string{
		"kill n1", "start n1", "disturb {A:n1 B: OneWay:false Network:0 Cut:true Drop:0 Delay:1s}", "heal", "push n1 /a /b", "down",
	}
	if diff := cmp.Diff(want, f.told); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the run folder is still there: %v", err)
	}
	if err := c.Heal(ctx); err == nil || !strings.Contains(err.Error(), "rvol-lab up starts one") {
		t.Errorf("a lab that is down: %v", err)
	}
}

func TestPortsOfANodeAreReachedDirectlyAndThroughAForward(t *testing.T) {
	c, _, _ := serve(t, &fake{})
	fw, err := c.Forward(t.Context(), "n1", 80)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Forward(t.Context(), "n1", 80)
	if diff := cmp.Diff(fw, again); err != nil || diff != "" {
		t.Error("a second forward to the same port is another one", err, diff)
	}
	s, err := c.Status(t.Context())
	if diff := cmp.Diff([]lab.Forward{fw}, s.Forwards); err != nil || diff != "" {
		t.Error(err, diff)
	}
	direct, err := c.Dial(t.Context(), "n1", 80)
	if err != nil {
		t.Fatal(err)
	}
	through, err := new(net.Dialer).DialContext(t.Context(), "tcp", fw.Listen)
	if err != nil {
		t.Fatal(err)
	}
	for _, conn := range []net.Conn{direct, through} {
		if _, err := conn.Write([]byte("ping")); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || string(got) != "n1 says ping" {
			t.Errorf("%q, %v", got, err)
		}
		conn.Close()
	}
	if _, err := c.Dial(t.Context(), "n1", 81); err == nil || err.Error() != "connection refused" {
		t.Error(err)
	}
	if _, err := c.Forward(t.Context(), "n1", 70000); err == nil {
		t.Error("port 70000 was forwarded")
	}
}

func TestAWorldThatDoesNotComeUpGoesDownAndLeavesItsLogs(t *testing.T) {
	f := &fake{upTo: errors.New("no kernel")}
	c, dir, ended := serve(t, f)
	if err := c.Up(t.Context(), io.Discard); err == nil || err.Error() != "no kernel" {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"down"}, f.told); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func TestARunnerTellsARefusalFromAMissingTool(t *testing.T) {
	c, _, _ := serve(t, &fake{})
	var refusal *lab.ExitError
	if _, err := lab.Runner(c, "n1")(t.Context(), "lvs"); !errors.As(err, &refusal) || refusal.ExitCode() != 5 ||
		string(refusal.Stderr()) != "n1[lvs] [] on stderr" {
		t.Error(err)
	}
	if _, err := lab.Runner(c, "n9")(t.Context(), "lvs"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
