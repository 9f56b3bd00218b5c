package sim

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"rvol/cmd/internal/lab/script"
	"rvol/drbd/drbdtest"
)

// TestScripts runs every script in a cluster of its own, each in a bubble of fake time.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txtar")
		if strings.HasPrefix(name, "kernel_") {
			continue // for real kernels only
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := tempRoot()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = os.RemoveAll(dir) }() // memory of this test
			log := logTo(t, filepath.Join(t.ArtifactDir(), name+".log"))
			synctest.Test(t, func(t *testing.T) { inBubble(t, f, dir, log) })
		})
	}
}

func logTo(t *testing.T, path string) *slog.Logger {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = f.Close() // a log for people
		if t.Failed() {
			t.Logf("the cluster's log is in %s", path)
		}
	})
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func inBubble(t *testing.T, file, dir string, log *slog.Logger) { //nolint:thelper // it is the test
	cfg := Config{Dir: dir, Nodes: 3, Version: "test", Log: log}
	if strings.HasPrefix(filepath.Base(file), "drbd9_") {
		cfg.DRBD, cfg.Nodes = drbdtest.V9, 5
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Logf("closing the cluster: %v", err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := c.Start(ctx); err != nil {
		t.Fatalf("start the cluster: %v", err)
	}
	begun := time.Now()
	s := NewScripted(c)
	script.Run(coat{t}, script.Params{Files: []string{file}, World: func() script.World { return s }, Dir: dir})
	t.Logf("%v of cluster time", time.Since(begun).Round(time.Second))
}

// coat makes a *testing.T inside a bubble one of testscript's: there, tests may neither
// have subtests nor run in parallel, and there is one script anyway.
type coat struct{ *testing.T }

func (c coat) Parallel()                          {}
func (c coat) Run(_ string, f func(testscript.T)) { f(c) }
func (c coat) Verbose() bool                      { return testing.Verbose() }
