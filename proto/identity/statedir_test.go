package identity

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheProgramsStatesLieSideBySideEachForItsOwner(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(t.TempDir(), "rvol")
	for _, name := range []string{"coordinator", "agent", "agent"} {
		if err := MakeStateDir(filepath.Join(parent, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]os.FileMode{parent: 0o755, parent + "/coordinator": 0o700, parent + "/agent": 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s is %v, wanted %v", path, got, want)
		}
	}
}
