package sim

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheTourOfTheReadmeWorks runs every command of README.md's console blocks, in order.
func TestTheTourOfTheReadmeWorks(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := console(string(b))
	if len(commands) < 10 {
		t.Fatalf("README.md shows %d commands only", len(commands))
	}
	dir, err := tempRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // memory of this test
	log := logTo(t, filepath.Join(t.ArtifactDir(), "readme.log"))
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Dir: dir, Nodes: 3, Version: "test", Log: log})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }() // what failed before is what counts
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if err := c.Start(ctx); err != nil {
			t.Fatal(err)
		}
		s := NewScripted(c)
		for _, args := range commands {
			var out, errs bytes.Buffer
			if code := s.Rvol(ctx, &out, &errs, args); code != 0 {
				t.Fatalf("$ rvol %s\nexit status %d\n%s%s", strings.Join(args, " "), code, out.String(), errs.String())
			}
		}
	})
}

// console finds the rvol commands of the console blocks of a Markdown text.
func console(text string) [][]string {
	var out [][]string
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			in = line == "```console"
		case in && strings.HasPrefix(line, "$ rvol "):
			out = append(out, strings.Fields(line)[2:])
		}
	}
	return out
}
