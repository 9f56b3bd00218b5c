package version

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheBuildSetsTheVersionOfEveryProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, program := range []string{"rvol", "rvol-agent", "rvol-coordinator"} {
		path := filepath.Join(dir, program)
		build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-X rvol/cmd/internal/version.Version=1.2.3-test", "-o", path, "rvol/cmd/"+program)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", program, err, out)
		}
		out, err := exec.CommandContext(t.Context(), path, "version").Output()
		if err != nil || !strings.Contains(string(out), "1.2.3-test") {
			t.Errorf("%s version: %q, %v", program, out, err)
		}
	}
}
