package main

import (
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
	for _, name := range []string{"man/rvol.1", "man/rvol-volume.1", "completions/rvol", "completions/_rvol", "completions/rvol.fish"} {
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
