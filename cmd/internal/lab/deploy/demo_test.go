//go:build kernellab

package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheDemoIsLoudWhereNoKernelRuns(t *testing.T) {
	t.Parallel()
	kernel := filepath.Join(t.TempDir(), "kernel")
	if err := os.WriteFile(kernel, []byte("no kernel\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	demo := exec.CommandContext(t.Context(), filepath.Join(bin, "rvol-lab"), "--name", "loud", "demo")
	demo.Env = append(os.Environ(), "RVOL_LAB_KERNEL="+kernel)
	out, err := demo.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	told, ended := strings.Index(string(out), "REAL KERNELS CANNOT RUN HERE"), strings.Index(string(out), "What was done, and how long it took")
	if told < 0 || ended < told {
		t.Errorf("told at %d, ended at %d:\n%s", told, ended, out)
	}
}
