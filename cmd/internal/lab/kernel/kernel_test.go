//go:build kernellab

package kernel_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/kernel"
)

// The agent in the nodes is this program, built once.
var self string // set by TestMain alone

func TestMain(m *testing.M) { os.Exit(withSelf(m)) }

func withSelf(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rvol-lab")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for rvol-lab:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	self = filepath.Join(dir, "rvol-lab")
	build := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-s -w", "-o", self, "rvol/cmd/rvol-lab")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build rvol-lab: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// up boots nodes for a test. A lab that does not start is a failed test.
func up(t *testing.T, c lab.Config) *kernel.World {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "rl") //nolint:usetesting // TempDir is too long for a unix socket
	if err != nil {
		t.Fatal(err)
	}
	c.Dir, c.Name = dir, "test-"+filepath.Base(dir)
	w, err := kernel.New(c, self)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			showLogs(t, w, c.Nodes)
		}
		if err := w.Down(context.Background()); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	start := time.Now()
	if err := w.Up(t.Context(), t.Output()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes up in %.1f s", c.Nodes, time.Since(start).Seconds())
	return w
}

func showLogs(t *testing.T, w *kernel.World, nodes int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for i := range nodes {
		if err := w.Logs(ctx, lab.NodeName(i+1), t.Output()); err != nil {
			t.Log(err)
		}
	}
}

// sh runs a script on a node and returns what it prints; a script that fails, fails the test.
func sh(t *testing.T, w lab.World, node, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, text bytes.Buffer
	code, err := w.Exec(ctx, node, lab.Command{Argv: []string{"sh", "-euc", script}, Stdout: &out, Stderr: io.MultiWriter(&text, t.Output())})
	if err != nil || code != 0 {
		t.Fatalf("on %s: %s\nexit status %d, %v\n%s%s", node, script, code, err, &out, &text)
	}
	return strings.TrimSpace(out.String())
}

// await runs a command on a node until its output contains want.
func await(t *testing.T, w lab.World, node, want, script string) {
	t.Helper()
	sh(t, w, node, fmt.Sprintf("for i in $(seq 300); do if { %s; } 2>&1 | grep -q -- '%s'; then exit 0; fi; sleep 0.1; done; %s; exit 1", script, want, script))
}
