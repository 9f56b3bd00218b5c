//go:build kernellab

package kernel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"rvol/cmd/internal/lab"
)

// testProgram builds the tests of a package as a program for a node, in a payload.
func testProgram(t *testing.T, pkg, name string) (payload string) {
	t.Helper()
	payload = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "lab", "-o", filepath.Join(payload, "bin", name), pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the tests of %s: %v\n%s", pkg, err, out)
	}
	return payload
}

// The suite runs inside the node: it opens devices, which needs no lab in between.
func TestTheSuiteOfLVMHoldsOnRealTools(t *testing.T) {
	w := up(t, lab.Config{Nodes: 1, Disks: 1, DiskSize: 512 << 20, Payload: testProgram(t, "rvol/lvm/lvmtest", "lvm-suite")})
	code, err := w.Exec(t.Context(), "n1", lab.Command{
		Argv:   []string{"lvm-suite", "-test.v", "-test.run", "TestSuiteOnThisMachine", "-disk", "/dev/ubdb"},
		Stdout: t.Output(), Stderr: t.Output(),
	})
	if err != nil || code != 0 {
		t.Errorf("exit status %d, %v", code, err)
	}
}
