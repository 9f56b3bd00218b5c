package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFollowHandsOverLines(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	h := tools(t, Config{}, map[string]string{"drbdsetup": "echo one; printf 'two\\n\\nthree'; echo; echo $$ > " + pidFile + "; exec /bin/sleep 1000"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var lines []string
	err := h.Follow(ctx, func(line []byte) {
		lines = append(lines, string(line))
		if string(line) == "three" {
			waitUntil(t, "the tool has named itself", func() bool { b, _ := os.ReadFile(pidFile); return len(b) > 1 })
			cancel()
		}
	}, "drbdsetup", "events2")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"one", "two", "", "three"}, lines); diff != "" {
		t.Error(diff)
	}
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || !gone(pid) {
		t.Errorf("process %d is still there, %v", pid, err)
	}
}

func TestFollowSaysHowItEnded(t *testing.T) {
	h := tools(t, Config{}, map[string]string{
		"ends":    "echo a",
		"refuses": "echo no >&2; exit 20",
		"babbles": "/usr/bin/head -c 2000000 /dev/zero; exec /bin/sleep 1000",
	})
	ignore := func([]byte) {}
	if err := h.Follow(t.Context(), ignore, "ends"); !errors.Is(err, ErrEnded) {
		t.Errorf("ends: %v", err)
	}
	err := h.Follow(t.Context(), ignore, "refuses")
	if refused, ok := errors.AsType[*ExitError](err); !ok || refused.ExitCode() != 20 || string(refused.Stderr()) != "no\n" {
		t.Errorf("refuses: %v", err)
	}
	if err := h.Follow(t.Context(), ignore, "babbles"); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("babbles: %v", err)
	}
	if err := h.Follow(t.Context(), ignore, "drbdsetup"); !errors.Is(err, ErrToolMissing) {
		t.Errorf("missing: %v", err)
	}
}
