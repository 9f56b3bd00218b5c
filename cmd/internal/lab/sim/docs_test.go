package sim

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"rvol/cmd/internal/cli"
	"rvol/cmd/internal/lab/script"
)

// documents are the texts for people, by name.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../../../packaging/doc/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	texts := map[string]string{}
	for _, f := range append(files, "../../../../README.md", "../../../../CONTRIBUTING.md", "../../../../ARCHITECTURE.md") {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(f)] = string(text)
	}
	return texts
}

// TestTheDocumentsAreTrue runs what they show, each chapter in a cluster of its own. What is run on a machine is run in the kernel lab.
func TestTheDocumentsAreTrue(t *testing.T) {
	t.Parallel()
	for name, text := range documents(t) {
		for title, chapter := range script.Chapters(text) {
			if chapter.Script == "" {
				continue
			}
			t.Run(name+"/"+title, func(t *testing.T) {
				t.Parallel()
				dir, err := tempRoot()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = os.RemoveAll(dir) }() // memory of this test
				file := filepath.Join(t.TempDir(), "chapter.txtar")
				if err := os.WriteFile(file, []byte(chapter.Script), 0o600); err != nil {
					t.Fatal(err)
				}
				log := logTo(t, filepath.Join(t.ArtifactDir(), "cluster.log"))
				synctest.Test(t, func(t *testing.T) { inBubble(t, file, dir, log) })
			})
		}
	}
}

// TestWhatTheProseNamesIsThere asks rvol itself for the help of each command that stands between backquotes.
func TestWhatTheProseNamesIsThere(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`rvol ([a-z][^`]*)`")
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*`)
	for file, text := range documents(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			words := strings.Fields(m[1])
			var path []string
			for _, w := range words[:min(3, len(words))] {
				if verb := name.FindString(w); verb != "" {
					path = append(path, verb) // of `stop|start` the first
				}
			}
			help := helpOf(t, path)
			if help == "" {
				t.Errorf("%s: `rvol %s`: there is no such command", file, m[1])
			}
			for _, w := range words {
				if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "--") && !strings.Contains(help, flag) {
					t.Errorf("%s: `rvol %s`: there is no %s", file, m[1], flag)
				}
			}
		}
	}
}

// helpOf is the help of the command that the words begin with; the rest are names of objects. "": there is none.
func helpOf(t *testing.T, words []string) string {
	t.Helper()
	for n := len(words); n > 0; n-- {
		var out, errs bytes.Buffer
		code := cli.Run(t.Context(), cli.Env{
			Stdin: bytes.NewReader(nil), Stdout: &out, Stderr: &errs,
			Getenv: func(string) string { return "" }, IsTerminal: func(any) bool { return false },
		}, append(slices.Clone(words[:n]), "--help"))
		_, usage, _ := strings.Cut(out.String(), "Usage:\n")
		group := strings.Contains(usage, "[command]")
		if code == 0 && strings.HasPrefix(strings.TrimSpace(usage), "rvol "+strings.Join(words[:n], " ")) && (!group || n == len(words)) {
			return out.String()
		}
	}
	return ""
}
