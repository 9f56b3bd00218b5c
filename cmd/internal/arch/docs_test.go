package arch

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.Doc == "" && !generated(p.ImportPath) {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func generated(path string) bool { return strings.HasSuffix(path, "/v1") && below(path, "rvol/proto") }

// longest is where one stops and thinks; mains stay lists.
const (
	longest     = 400
	longestMain = 120
)

func TestFilesStayReadable(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if generated(p.ImportPath) {
			continue
		}
		for _, f := range p.GoFiles {
			limit := longest
			if f == "main.go" {
				limit = longestMain
			}
			if n := code(t, filepath.Join(p.Dir, f)); n > limit {
				t.Errorf("%s/%s has %d lines of code, more than %d: cut it", p.ImportPath, f, n, limit)
			}
		}
	}
}

// code counts the lines of a file that are neither blank nor comment.
func code(t *testing.T, path string) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		if l := strings.TrimSpace(s.Text()); l != "" && !strings.HasPrefix(l, "//") {
			n++
		}
	}
	return n
}

func TestTheTopLevelIsFixed(t *testing.T) {
	t.Parallel()
	want := map[string]bool{
		"agent": true, "coordinator": true, "drbd": true, "lvm": true, "proto": true, "cmd": true, "packaging": true,
		"go.mod": true, "go.sum": true, "Vagrantfile": true, "Makefile": true,
		"README.md": true, "ARCHITECTURE.md": true, "CONTRIBUTING.md": true, "CHANGELOG.md": true, "LICENSE": true,
		"bin": true, "dist": true, // built, ignored by git
	}
	entries, err := os.ReadDir("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		built := strings.HasSuffix(e.Name(), ".test") // and ignored by git
		if !strings.HasPrefix(e.Name(), ".") && !want[e.Name()] && !built {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}
