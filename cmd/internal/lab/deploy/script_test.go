//go:build kernellab

package deploy_test

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"rvol/cmd/internal/lab/deploy"
	"rvol/cmd/internal/lab/deploy/deploytest"
	"rvol/cmd/internal/lab/script"
)

// The programs, built once.
var bin string // set by TestMain alone

func TestMain(m *testing.M) { os.Exit(withPrograms(m)) }

func withPrograms(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rvol-bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for the programs:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bin = dir
	if err := deploytest.Build(bin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// inVirtual are those of them that hold on the Vagrantfile's machines: the arbiter is DRBD 8.4's, and one names disks of User Mode Linux.
func inVirtual(name string) bool {
	return inKernel(name) && !strings.HasPrefix(name, "arbiter_") && name != "kernel_badinput"
}

// inKernel are the scripts of the simulated world that hold on real kernels too, in bearable time.
func inKernel(name string) bool {
	switch name {
	case "cluster", "formation", "failover", "badinput", "majority", "attach_two", "link":
		return true
	}
	return strings.HasPrefix(name, "kernel_") || strings.HasPrefix(name, "arbiter_")
}

func TestScriptsOnRealKernels(t *testing.T) {
	for name, file := range scripts(t) {
		if !inKernel(name) || deploytest.Virtual() && !inVirtual(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // mostly they wait
			play(t, deploytest.Up(t, bin, 3), file)
		})
	}
}

// TestScriptsOfDRBD9 runs them on a DRBD 9 that was handed in; Debian's kernel has none.
func TestScriptsOfDRBD9(t *testing.T) {
	if deploytest.Virtual() {
		t.Log("scripts of DRBD 9 want five nodes: the Vagrantfile has three")
		return
	}
	if os.Getenv("RVOL_LAB_MODULES") == "" {
		t.Log("NO DRBD 9 WAS HANDED IN (RVOL_LAB_MODULES): the scripts drbd9_* run in the simulated world alone, by go test ./cmd/internal/lab/sim")
		return
	}
	for name, file := range scripts(t) {
		if !strings.HasPrefix(name, "drbd9_") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := deploytest.Up(t, bin, 5)
			version, err := c.On(t.Context(), "n1", "cat /sys/module/drbd/version")
			if err != nil || !strings.HasPrefix(version, "9.") {
				t.Fatalf("the modules of RVOL_LAB_MODULES hold DRBD %q, want 9: %v", version, err)
			}
			play(t, c, file)
		})
	}
}

// scripts are all there are, by name.
func scripts(t *testing.T) iter.Seq2[string, string] {
	t.Helper()
	files, err := filepath.Glob("../testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return func(yield func(string, string) bool) {
		for _, f := range files {
			if !yield(strings.TrimSuffix(filepath.Base(f), ".txtar"), f) {
				return
			}
		}
	}
}

func play(t *testing.T, c *deploy.Cluster, file string) {
	t.Helper()
	script.Run(coat{t}, script.Params{Files: []string{file}, World: func() script.World { return deploy.Scripted{Cluster: c} }, Dir: t.TempDir()})
}

// coat makes a *testing.T one of testscript's; each script has a cluster, and so a test, of its own.
type coat struct{ *testing.T }

func (c coat) Parallel()                          {}
func (c coat) Run(_ string, f func(testscript.T)) { f(c) }
func (c coat) Verbose() bool                      { return true }
