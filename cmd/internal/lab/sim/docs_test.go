package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// TestTheDocumentsAreTrue runs what the documents show, each chapter in a cluster of its own: the rvol commands of console blocks, in
// order, whose output must hold the lines that stand below them; and what stands in a comment that begins with `lab`,
// which is what happens to the machines meanwhile, in the words of the scripts. Numbers may differ. What is run on a
// machine (sh blocks) is run in the kernel lab.
func TestTheDocumentsAreTrue(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../../packaging/doc/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, f := range append(files, "../../../../README.md") {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for title, script := range chapters(string(text)) {
			t.Run(filepath.Base(f)+"/"+title, func(t *testing.T) {
				t.Parallel()
				dir, err := tempRoot()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = os.RemoveAll(dir) }() // memory of this test
				file := filepath.Join(t.TempDir(), "chapter.txtar")
				if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
					t.Fatal(err)
				}
				log := logTo(t, filepath.Join(t.ArtifactDir(), "cluster.log"))
				synctest.Test(t, func(t *testing.T) { inBubble(t, file, dir, log) })
			})
		}
	}
}

// chapters turns the chapters of a Markdown text that show or do something into scripts.
func chapters(text string) map[string]string {
	scripts := map[string]string{}
	title, block := "begin", ""
	var script strings.Builder
	end := func() {
		if strings.Contains(script.String(), "rvol ") {
			scripts[title] = script.String()
		}
		script.Reset()
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case block == "" && strings.HasPrefix(line, "## "):
			end()
			title = strings.TrimPrefix(line, "## ")
		case block == "" && line == "```console":
			block = "console"
		case block == "" && strings.HasPrefix(line, "```"):
			block = "other"
		case block == "" && line == "<!-- lab":
			block = "lab"
		case block == "lab" && line == "-->", block != "" && strings.HasPrefix(line, "```"):
			block = ""
		case block == "lab":
			fmt.Fprintln(&script, line)
		case block == "console":
			fmt.Fprintln(&script, shown(line, lines[i+1]))
		}
	}
	end()
	return scripts
}

// shown is a line of a console block as one of a script. A refusal stands below its command, as it does on the terminal.
func shown(line, next string) string {
	command, isCommand := strings.CutPrefix(line, "$ rvol ")
	switch {
	case isCommand && strings.HasPrefix(next, "rvol: "):
		return "! rvol " + command
	case isCommand:
		return "rvol " + command
	case strings.HasPrefix(line, "rvol: "):
		return "stderr " + like(line)
	case strings.TrimSpace(line) == "" || line == "...":
		return ""
	}
	return "stdout " + like(line)
}

// like is an expression for lines that say the same with other numbers, times and spaces.
func like(line string) string {
	s := regexp.QuoteMeta(strings.TrimSpace(line))
	s = regexp.MustCompile(`\d+`).ReplaceAllString(s, `\d+`)
	s = regexp.MustCompile(`\s+`).ReplaceAllString(s, `\s+`)
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

func TestAChapterIsAScript(t *testing.T) {
	text := "# Title\n## One\n```console\n$ rvol node list\nn1  Ready 5s\n...\n$ rvol lvg create n1 vg9\nrvol: n1 has no vg9.\n```\n" +
		"<!-- lab\npoweroff n1\n-->\n```sh\nreboot\n```\n## Two\nprose\n"
	want := map[string]string{"One": "rvol node list\nstdout 'n\\d+\\s+Ready\\s+\\d+s'\n\n! rvol lvg create n1 vg9\nstderr 'rvol:\\s+n\\d+\\s+has\\s+no\\s+vg\\d+\\.'\npoweroff n1\n"}
	if diff := cmp.Diff(want, chapters(text)); diff != "" {
		t.Error(diff)
	}
}
