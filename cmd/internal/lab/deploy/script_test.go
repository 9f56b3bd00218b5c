//go:build kernellab

package deploy_test

import (
	"fmt"
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

// inKernel are the scripts of the simulated world that hold on real kernels too, in bearable time.
func inKernel(name string) bool {
	switch name {
	case "cluster", "formation", "failover", "badinput", "majority", "attach_two", "link":
		return true
	}
	return strings.HasPrefix(name, "kernel_") || strings.HasPrefix(name, "arbiter_")
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
			t.Parallel() // mostly they wait
			c := deploytest.Up(t, bin, 3)
			script.Run(coat{t}, script.Params{Files: []string{f}, World: func() script.World { return deploy.Scripted{Cluster: c} }, Dir: t.TempDir()})
		})
	}
}

// coat makes a *testing.T one of testscript's; each script has a cluster, and so a test, of its own.
type coat struct{ *testing.T }

func (c coat) Parallel()                          {}
func (c coat) Run(_ string, f func(testscript.T)) { f(c) }
func (c coat) Verbose() bool                      { return true }
