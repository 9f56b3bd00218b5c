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
	build := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-s -w", "-o", dir+"/",
		"rvol/cmd/rvol", "rvol/cmd/rvol-agent", "rvol/cmd/rvol-coordinator", "rvol/cmd/rvol-lab")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
}

// Packages makes packages of a version into a folder, as `make packages` does, for the machine that nodes are.
func Packages(dir, version string) error {
	pack := exec.CommandContext(context.Background(), "../../../../packaging/packages.sh", version, dir)
	pack.Env = append(os.Environ(), "ARCHITECTURES=amd64", "KINDS=deb")
	if out, err := pack.CombinedOutput(); err != nil {
		return fmt.Errorf("make packages: %w\n%s", err, out)
	}
	return nil
}

// Up makes a cluster of the programs in bin for a test, and takes it down at its end.
func Up(tb testing.TB, bin string, nodes int) *deploy.Cluster {
	tb.Helper()
	if Virtual() {
		return upVirtual(tb, bin, nodes)
	}
	payload := filepath.Join(tb.TempDir(), "payload")
	if err := deploy.Payload(payload, bin); err != nil {
		tb.Fatal(err)
	}
	return up(tb, bin, nodes, payload, "")
}

// UpPackages makes one of the packages in the folder install; all folders are at /opt/rvol of each node.
func UpPackages(tb testing.TB, bin string, nodes int, folders map[string]string, install string) *deploy.Cluster {
	tb.Helper()
	return up(tb, bin, nodes, packages(tb, folders), "dpkg -i /opt/rvol/"+install+"/*.deb >/run/dpkg.log 2>&1 || { cat /run/dpkg.log >&2; exit 1; }")
}

// Machines boots nodes on which nothing of rvol is installed; all folders of packages are at /opt/rvol of each.
func Machines(tb testing.TB, bin string, nodes int, folders map[string]string) *deploy.Cluster {
	tb.Helper()
	return boot(tb, bin, nodes, packages(tb, folders))
}

func packages(tb testing.TB, folders map[string]string) (payload string) {
	tb.Helper()
	payload = filepath.Join(tb.TempDir(), "payload")
	if err := deploy.Packages(payload, folders); err != nil {
		tb.Fatal(err)
	}
	return payload
}

func up(tb testing.TB, bin string, nodes int, payload, install string) *deploy.Cluster {
	tb.Helper()
	begun := time.Now()
	c := boot(tb, bin, nodes, payload)
	if install != "" {
		c.Install = install
	}
	if err := c.Up(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if err := c.Formed(tb.Context(), 2*time.Minute); err != nil {
		tb.Fatal(err)
	}
	tb.Logf("a cluster of %d nodes formed in %.1f s", nodes, time.Since(begun).Seconds())
	return c
}

func boot(tb testing.TB, bin string, nodes int, payload string) *deploy.Cluster {
	tb.Helper()
	dir, err := os.MkdirTemp("/tmp", "rl") //nolint:usetesting // TempDir is too long for a unix socket
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	w, err := kernel.New(lab.Config{
		Name: "test-" + filepath.Base(dir), Dir: dir, Nodes: nodes, Disks: deploy.Disks, DiskSize: 1 << 30, Payload: payload,
	}, filepath.Join(bin, "rvol-lab"))
	if err != nil {
		tb.Fatal(err)
	}
	c := deploy.New(serve(tb, w, dir), nodes, deploy.Client{Program: filepath.Join(bin, "rvol"), Config: filepath.Join(dir, "admin.yaml")}, quiet{})
	tb.Cleanup(func() { keepLogs(tb, c) })
	if err := w.Up(tb.Context(), tb.Output()); err != nil {
		tb.Fatal(err)
	}
	return c
}

// serve gives the world the forwards of one that lives in a process of its own.
func serve(tb testing.TB, w lab.World, dir string) deploy.World {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "unix", remote.SocketFile(dir))
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- remote.Serve(ctx, l, w, dir, slog.New(slog.DiscardHandler)) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			tb.Error(err)
		}
	})
	return remote.Connect(dir)
}

func keepLogs(tb testing.TB, c *deploy.Cluster) {
	tb.Helper()
	if !tb.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, n := range c.Nodes {
		f, err := os.Create(filepath.Join(tb.ArtifactDir(), n+".log"))
		if err != nil {
			tb.Fatal(err)
		}
		if err := errors.Join(c.Logs(ctx, n, f), f.Close()); err != nil {
			tb.Log(err)
		}
		tb.Logf("what happened on %s is in %s", n, f.Name())
	}
}

// quiet tells nobody.
type quiet struct{}

func (quiet) Command(string, string) {}
func (quiet) Say(string, ...any)     {}
