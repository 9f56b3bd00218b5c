package collect_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/agent/collect"
)

const secret = "MZXW6YTBOI7Q2K3LJHGFDSAPOI"

func node(t *testing.T) collect.Node {
	t.Helper()
	root := t.TempDir()
	res := filepath.Join(root, "etc/drbd.d/rvol/rvol-db-1.res")
	if err := errors.Join(os.MkdirAll(filepath.Dir(res), 0o700), os.WriteFile(res, []byte("shared-secret \""+secret+"\";\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return collect.Node{
		Run: func(_ context.Context, argv ...string) ([]byte, error) {
			return []byte(strings.Join(argv, " ") + " " + secret), nil
		},
		Root: root, Facts: func() any { return map[string]string{"fact": secret} }, Secrets: func() [][]byte { return [][]byte{[]byte(secret)} },
		Metrics: func() ([]byte, error) { return []byte("up 1\n"), nil },
	}
}

// gather returns all files of a node by their names.
func gather(ctx context.Context, t *testing.T, n collect.Node, limit int64) map[string]collect.File {
	t.Helper()
	files := map[string]collect.File{}
	if err := n.Collect(ctx, limit, func(f collect.File) error { files[f.Name] = f; return nil }); err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEverythingIsCollectedWithoutSecrets(t *testing.T) {
	files := gather(t.Context(), t, node(t), 1<<20)
	for _, name := range []string{
		"journal.txt", "kernel.txt", "drbd-status.txt", "drbd-events.txt", "drbd-show.txt", "lvm.json", "dmsetup-table.txt",
		"agent.json", "metrics.txt", "files/etc/drbd.d/rvol/rvol-db-1.res",
	} {
		f, ok := files[name]
		if !ok || f.Missing != "" || bytes.Contains(f.Data, []byte(secret)) {
			t.Errorf("%s: there %v, missing %q: %s", name, ok, f.Missing, f.Data)
		}
	}
}

func TestAToolThatHangsCostsItsOwnOutput(t *testing.T) {
	n := node(t)
	synctest.Test(t, func(t *testing.T) {
		run := n.Run
		n.Run = func(ctx context.Context, argv ...string) ([]byte, error) {
			if argv[0] != "lvm" {
				return run(ctx, argv...)
			}
			<-ctx.Done()
			return nil, errors.New("hung, by " + secret)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		files := gather(ctx, t, n, 1<<20)
		if f := files["lvm.json"]; f.Missing != "lvm fullreport: hung, by [removed]" {
			t.Errorf("lvm.json is missing because %q", f.Missing)
		}
		if f := files["drbd-status.txt"]; f.Missing != "" || len(f.Data) == 0 {
			t.Errorf("drbd-status.txt: %q, missing %q", f.Data, f.Missing)
		}
	})
}

func TestFilesAndNodesAreBounded(t *testing.T) {
	n := node(t)
	run := n.Run
	n.Run = func(ctx context.Context, argv ...string) ([]byte, error) {
		if argv[0] != "journalctl" {
			return run(ctx, argv...)
		}
		return append(bytes.Repeat([]byte("0123456789 first\n"), 1<<18), "last\n"...), nil
	}
	const limit = 5 << 20
	size, out := 0, 0
	for name, f := range gather(t.Context(), t, n, limit) {
		size += len(f.Data)
		if strings.Contains(f.Missing, "left out: what this node may send") {
			out++
		}
		if len(f.Data) > 4<<20 || len(f.Data) > 1<<20 && f.Missing == "" {
			t.Errorf("%s has %d bytes, missing %q", name, len(f.Data), f.Missing)
		}
		if name == "journal.txt" && len(f.Data) > 0 && !bytes.HasSuffix(f.Data, []byte("last\n")) {
			t.Error("the log has lost its end")
		}
	}
	if size > limit || out == 0 {
		t.Errorf("%d bytes, %d files left out", size, out)
	}
}

func TestWhoTakesNoMoreEndsIt(t *testing.T) {
	n, gone := node(t), errors.New("gone")
	n.Run = func(ctx context.Context, _ ...string) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
	if err := n.Collect(t.Context(), 1<<20, func(collect.File) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}
