package browse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestALinkIsNoArgumentOfAProcess(t *testing.T) {
	bin, run := t.TempDir(), t.TempDir()
	// What opens links notes what it was given, and what the file says that it was given.
	script := "#!/bin/sh\necho \"$@\" > " + bin + "/args\ncat \"$1\" > " + bin + "/page\nstat -c %a \"$1\" > " + bin + "/mode\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_RUNTIME_DIR", run)
	if err := Open(t.Context(), "https://c1:7174/login#SECRET"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		text string
		is   bool
	}{"args": {"SECRET", false}, "page": {"https://c1:7174/login#SECRET", true}, "mode": {"600", true}} {
		text, err := os.ReadFile(filepath.Join(bin, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), want.text) != want.is {
			t.Errorf("%s: got %q; that it has %q is %v", name, text, want.text, want.is)
		}
	}
}
