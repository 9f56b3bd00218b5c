//go:build kernellab

package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/deploy"
	"rvol/cmd/internal/lab/kernel"
	"rvol/cmd/internal/lab/remote"
	"rvol/cmd/internal/lab/script"
)

// The programs, built once.
var bin string //nolint:gochecknoglobals // set by TestMain alone

func TestMain(m *testing.M) { os.Exit(withPrograms(m)) }

func withPrograms(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rvol-bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for the programs:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/", //nolint:noctx // go test has its own deadline
		"rvol/cmd/rvol", "rvol/cmd/rvol-agent", "rvol/cmd/rvol-coordinator", "rvol/cmd/rvol-lab")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// inKernel are the scripts of the simulated world that hold on real kernels too, in bearable time.
func inKernel(name string) bool {
	switch name {
	case "cluster", "formation", "failover", "badinput", "majority":
		return true
	}
	return strings.HasPrefix(name, "kernel_")
}

func TestScriptsOnRealKernels(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txtar")
		if !inKernel(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := up(t, 3)
			script.Run(coat{t}, script.Params{Files: []string{f}, World: func() script.World { return deploy.Scripted{Cluster: c} }, Dir: t.TempDir()})
		})
	}
}

// coat makes a *testing.T one of testscript's; each script has a cluster, and so a test, of its own.
type coat struct{ *testing.T }

func (c coat) Parallel()                          {}
func (c coat) Run(_ string, f func(testscript.T)) { f(c) }
func (c coat) Verbose() bool                      { return true }

// up makes a cluster for a test and takes it down at its end.
func up(t *testing.T, nodes int) *deploy.Cluster {
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
	if err := errors.Join(w.Up(t.Context(), t.Output()), c.Up(t.Context()), c.Formed(t.Context(), time.Minute)); err != nil {
		t.Fatal(err)
	}
	t.Logf("a cluster of %d nodes formed in %.1f s", nodes, time.Since(begun).Seconds())
	return c
}

// serve gives the world the forwards of one that lives in a process of its own.
func serve(t *testing.T, w lab.World, dir string) deploy.World {
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

func keepLogs(t *testing.T, c *deploy.Cluster) {
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
