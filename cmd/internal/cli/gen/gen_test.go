package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"rvol/cmd/internal/cli"
)

func TestGeneratedFilesAreTheSameEachTime(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := generate(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, first), read(t, second)); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	for _, name := range []string{"man/rvol.1", "man/rvol-volume.1", "man/rvol-output.7", "completions/rvol", "completions/_rvol", "completions/rvol.fish"} {
		if len(read(t, first)[name]) == 0 {
			t.Errorf("%s is missing or empty", name)
		}
	}
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"man/*", "completions/*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(f, dir+"/")] = string(text)
		}
	}
	return all
}

func TestEveryCommandHasItsPlaceInAPage(t *testing.T) {
	root := cli.New(cli.Env{})
	all := ""
	for _, text := range pages(root) {
		all += text
	}
	var check func(*cobra.Command)
	check = func(c *cobra.Command) {
		if c.IsAvailableCommand() && !strings.Contains(all, escape(c.CommandPath())) {
			t.Errorf("no page tells of %s", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	check(root)
}

func TestTroffReadsOurTextAsText(t *testing.T) {
	got := escape(".TH 'a\n'b --c \\d")
	if want := "\\&.TH 'a\n\\&'b \\-\\-c \\ed"; got != want {
		t.Errorf("escape = %q, want %q", got, want)
	}
}

var update = flag.Bool("update", false, "write the list of fields anew")

// TestFieldsThatProgramsReadStay compares the documents with those that were promised: what is in testdata/fields.txt
// may neither go nor change. `make generate` promises new ones, with -update.
func TestFieldsThatProgramsReadStay(t *testing.T) {
	var b strings.Builder
	for _, f := range cli.Forms() {
		if f.Message != nil {
			fmt.Fprintf(&b, "%s: %s\n", f.Command, f.Message.Name())
		}
		for _, field := range f.Fields {
			fmt.Fprintf(&b, "%s: %s %s\n", f.Command, field.Name, field.Type)
		}
	}
	for _, m := range messages() {
		for i := range m.Fields().Len() {
			fmt.Fprintf(&b, "%s.%s %s\n", m.Name(), m.Fields().Get(i).Name(), typeOf(m.Fields().Get(i)))
		}
	}
	const golden = "testdata/fields.txt"
	promised, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(promised)) {
		if !strings.Contains("\n"+b.String(), "\n"+line) {
			t.Errorf("programs may read %q, which is gone or different", strings.TrimSpace(line))
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestThePageOfTheOutputTellsAll(t *testing.T) {
	page, err := outputPage()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages() {
		for i := range m.Fields().Len() {
			name := escape(string(m.Fields().Get(i).Name()))
			if !strings.Contains(page, "\\fB"+name+"\\fR") {
				t.Errorf("%s of %s is not in the page", name, m.Name())
			}
		}
	}
	for _, want := range []string{"usable bytes; multiples of 4096", "why, or what is waited for", "MAY FAIL NOW", "forming, ready, degraded"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
