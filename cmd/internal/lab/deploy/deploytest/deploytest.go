// Package deploytest gives tests and benchmarks a cluster of real kernels.
//
// It builds the programs from the sources that are tested, boots nodes, and takes them down at the end of the test.
package deploytest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/deploy"
	"rvol/cmd/internal/lab/kernel"
	"rvol/cmd/internal/lab/remote"
)

// Build builds the programs into a folder.
func Build(dir string) error {
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/", //nolint:noctx // go test has its own deadline
		"rvol/cmd/rvol", "rvol/cmd/rvol-agent", "rvol/cmd/rvol-coordinator", "rvol/cmd/rvol-lab")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
}

// Up makes a cluster of the programs in bin for a test, and takes it down at its end.
func Up(t testing.TB, bin string, nodes int) *deploy.Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "rl") // t.TempDir is too long for a unix socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	payload := filepath.Join(t.TempDir(), "payload")
	if err := deploy.Payload(payload, bin); err != nil {
		t.Fatal(err)
	}
	w, err := kernel.New(lab.Config{
		Name: "test-" + filepath.Base(dir), Dir: dir, Nodes: nodes, Disks: deploy.Disks, DiskSize: 1 << 30, Payload: payload,
	}, filepath.Join(bin, "rvol-lab"))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	c := deploy.New(serve(t, w, dir), nodes, deploy.Client{Program: filepath.Join(bin, "rvol"), Config: filepath.Join(dir, "admin.yaml")}, quiet{})
	t.Cleanup(func() { keepLogs(t, c) })
	if err := errors.Join(w.Up(t.Context(), t.Output()), c.Up(t.Context()), c.Formed(t.Context(), 2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	t.Logf("a cluster of %d nodes formed in %.1f s", nodes, time.Since(begun).Seconds())
	return c
}

// serve gives the world the forwards of one that lives in a process of its own.
func serve(t testing.TB, w lab.World, dir string) deploy.World {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", remote.SocketFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // Cleanup waits for what it ends
	served := make(chan error, 1)
	go func() { served <- remote.Serve(ctx, l, w, dir, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return remote.Connect(dir)
}

func keepLogs(t testing.TB, c *deploy.Cluster) {
	t.Helper()
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, n := range c.Nodes {
		f, err := os.Create(filepath.Join(t.ArtifactDir(), n+".log"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Logs(ctx, n, f), f.Close()); err != nil {
			t.Log(err)
		}
		t.Logf("what happened on %s is in %s", n, f.Name())
	}
}

// quiet tells nobody.
type quiet struct{}

func (quiet) Command(string, string) {}
func (quiet) Say(string, ...any)     {}
