package host

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tools makes a Host whose tools are shell scripts.
func tools(t *testing.T, c Config, scripts map[string]string) *Host {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.Search = []string{dir}
	h := New(c)
	t.Cleanup(func() {
		if err := h.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func TestToolSeesNothingOfOurs(t *testing.T) {
	t.Setenv("SECRET", "sesame")
	h := tools(t, Config{}, map[string]string{"lvs": `pwd; echo "$@"; cat; /usr/bin/env | grep -v ^_= | sort; /bin/ps -o pgid= $$ | tr -d ' '; echo $$`})
	out, err := h.Run(t.Context(), "lvs", "a b", "$(id)")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	want := []string{"/", "a b $(id)", "LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "PWD=/"}
	if diff := cmp.Diff(want, lines[:len(lines)-2]); diff != "" {
		t.Error(diff)
	}
	if pgid, pid := lines[len(lines)-2], lines[len(lines)-1]; pgid != pid {
		t.Errorf("process %s is in group %s", pid, pgid)
	}
}

func TestRefusal(t *testing.T) {
	h := tools(t, Config{}, map[string]string{"lvcreate": "echo out; echo first >&2; echo '  last words' >&2; exit 5"})
	out, err := h.Run(t.Context(), "lvcreate", "--name", "a")
	refused, ok := errors.AsType[*ExitError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if refused.ExitCode() != 5 || string(refused.Stderr()) != "first\n  last words\n" || string(out) != "out\n" {
		t.Errorf("got %d, %q, %q", refused.ExitCode(), refused.Stderr(), out)
	}
	if want := "lvcreate: exit status 5: last words"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestToolKilledBySomebodyElse(t *testing.T) {
	h := tools(t, Config{}, map[string]string{"lvs": "kill -SEGV $$"})
	_, err := h.Run(t.Context(), "lvs")
	if refused, ok := errors.AsType[*ExitError](err); !ok || refused.ExitCode() != -1 || !strings.Contains(err.Error(), "segmentation fault") {
		t.Errorf("got %v", err)
	}
}

func TestMissingTool(t *testing.T) {
	h := tools(t, Config{}, nil)
	for tool, pkg := range map[string]string{
		"lvcreate": "lvm2", "lvm": "lvm2", "vgs": "lvm2", "drbdadm": "drbd-utils", "drbdsetup": "drbd-utils",
		"wipefs": "util-linux", "blkdiscard": "util-linux", "thin_check": "thin-provisioning-tools", "modprobe": "kmod",
	} {
		_, err := h.Run(t.Context(), tool)
		missing, ok := errors.AsType[*MissingToolError](err)
		if !ok || missing.Package != pkg || !errors.Is(err, ErrToolMissing) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v", tool, err)
		}
		if want := tool + ": tool is not installed: install package " + pkg; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	if _, err := h.Run(t.Context(), "frobnicate"); !errors.Is(err, ErrToolMissing) || strings.Contains(err.Error(), "package") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyTheFixedFoldersAreSearched(t *testing.T) {
	h := tools(t, Config{}, map[string]string{"lvs": "echo ours"})
	if err := os.Mkdir(filepath.Join(h.search[0], "vgs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.search[0], "pvs"), []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "lvs")
	if err := os.WriteFile(elsewhere, []byte("#!/bin/sh\necho theirs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := h.Run(t.Context(), elsewhere); err != nil || string(out) != "ours\n" {
		t.Errorf("got %q, %v", out, err)
	}
	for _, tool := range []string{"vgs", "pvs", ""} {
		if _, err := h.Find(tool); !errors.Is(err, ErrToolMissing) {
			t.Errorf("%q: got %v", tool, err)
		}
	}
	if path, err := h.Find("lvs"); err != nil || path != filepath.Join(h.search[0], "lvs") {
		t.Errorf("got %s, %v", path, err)
	}
}

// TestHungToolThatReads is killed with all its children.
func TestHungToolThatReads(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	deadlines := map[Class]time.Duration{Look: 200 * time.Millisecond}
	h := tools(t, Config{Deadlines: deadlines}, map[string]string{"lvs": "trap '' TERM; /bin/sleep 1000 & echo $! > " + pidFile + "; wait"})
	_, err := h.Run(t.Context(), "lvs")
	child, _ := os.ReadFile(pidFile)
	for ; len(child) == 0; child, _ = os.ReadFile(pidFile) { // a busy machine had not come to run its first lines
		deadlines[Look] *= 2
		_, err = h.Run(t.Context(), "lvs")
	}
	ended, ok := errors.AsType[*DeadlineError](err)
	if !ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if want := "lvs: ended: context deadline exceeded"; ended.Error() != want {
		t.Errorf("got %q, want %q", ended, want)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(child)))
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the tool's child is gone", func() bool { return gone(pid) })
	if list := h.Stuck(); len(list) != 0 {
		t.Errorf("stuck: %v", list)
	}
}

// gone reports whether a process has ended; what nobody waited for is a zombie.
func gone(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(b), ") Z ")
}

func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 24_000 { // two minutes
		if holds() {
			return
		}
		<-tick.C
	}
	t.Fatalf("waited in vain until %s", what)
}

func TestCallerWhoHasGone(t *testing.T) {
	h := tools(t, Config{}, map[string]string{"drbdadm": "exec /bin/sleep 1000", "lvcreate": "exit 0"})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := h.Run(ctx, "drbdadm", "up", "db"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := h.Run(ctx, "lvcreate"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a tool was started for nobody: %v", err)
	}
}

// TestHungToolThatChangesLVM is left alone, and waited for.
func TestHungToolThatChangesLVM(t *testing.T) {
	dir := t.TempDir()
	goOn, worked := filepath.Join(dir, "go"), filepath.Join(dir, "worked")
	var log bytes.Buffer
	h := tools(t, Config{
		Log:       slog.New(slog.NewTextHandler(&log, nil)),
		Deadlines: map[Class]time.Duration{Change: 100 * time.Millisecond},
	}, map[string]string{"lvremove": "while [ ! -e " + goOn + " ]; do /bin/sleep 0.01; done; touch " + worked})

	_, err := h.Run(t.Context(), "lvremove", "vg0/a")
	stuck, ok := errors.AsType[*StuckError](err)
	if !ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if gone(stuck.Pid) {
		t.Fatal("it was killed")
	}
	if diff := cmp.Diff([]string{"lvremove", "vg0/a"}, stuck.Command()); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(err.Error(), "lvremove (pid "+strconv.Itoa(stuck.Pid)+", state ") {
		t.Errorf("got %q", err)
	}
	if list := h.Stuck(); len(list) != 1 || list[0].Pid != stuck.Pid || list[0].State == "" {
		t.Errorf("stuck: %+v", list)
	}
	if ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond); h.Wait(ctx) == nil {
		cancel()
		t.Error("nothing is waited for")
	} else {
		cancel()
	}

	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-stuck.Done()
	if _, err := os.Stat(worked); err != nil {
		t.Errorf("it did not end by itself: %v", err)
	}
	if err := h.Wait(t.Context()); err != nil || len(h.Stuck()) != 0 {
		t.Errorf("afterwards: %v, %v", h.Stuck(), err)
	}
	for _, words := range []string{"tool is stuck", "stuck tool has ended"} {
		if !strings.Contains(log.String(), words) {
			t.Errorf("not logged: %s", words)
		}
	}
}

func TestOutputIsCapped(t *testing.T) {
	h := tools(t, Config{}, map[string]string{"lvs": "exec /usr/bin/head -c 17000000 /dev/zero", "vgs": "exec /usr/bin/head -c 17000000 /dev/zero >&2"})
	for _, tool := range []string{"lvs", "vgs"} {
		if _, err := h.Run(t.Context(), tool); !errors.Is(err, ErrOutputTooLong) {
			t.Errorf("%s: got %v", tool, err)
		}
	}
}

func TestDaemonLeftBehindIsNotWaitedFor(t *testing.T) {
	h := tools(t, Config{}, map[string]string{"vgchange": "/bin/sleep 1000 & echo $!"})
	start := time.Now()
	out, err := h.Run(t.Context(), "vgchange")
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 5*time.Minute {
		t.Errorf("took %s", took)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

func TestCommandLinesAreLogged(t *testing.T) {
	var log bytes.Buffer
	h := tools(t, Config{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))},
		map[string]string{"lvs": "exit 0"})
	if _, err := h.Run(t.Context(), "lvs", "-a"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), `level=DEBUG msg="ran a tool" argv="[lvs -a]"`) {
		t.Errorf("logged: %s", log.String())
	}
}

func TestNothingToRun(t *testing.T) {
	if _, err := New(Config{}).Run(t.Context()); err == nil {
		t.Error("no error")
	}
}

func TestClasses(t *testing.T) {
	tests := map[Class][]string{
		Look: {"lvm fullreport", "wipefs --json /dev/sdb", "drbdsetup status --json", "drbdadm dump db", "drbdadm --version", "drbdsetup events2"},
		Act:  {"drbdadm up db", "drbdsetup new-current-uuid 1000", "drbdmeta 1000 v09 /dev/vg0/a internal create-md 7", "modprobe drbd"},
		Long: {"blkdiscard --zeroout /dev/vg0/a"},
		Change: {
			"lvcreate --yes", "lvremove --yes", "lvextend --size 1b vg0/a", "lvchange --activate y vg0/a", "vgchange --activate ay vg0",
			"vgcreate vg0 /dev/sdb",
		},
	}
	for want, commands := range tests {
		for _, c := range commands {
			if got := ClassOf(strings.Fields(c)); got != want {
				t.Errorf("%s: %s, want %s", c, got, want)
			}
		}
		if New(Config{}).deadline(want) <= 0 {
			t.Errorf("%s has no deadline", want)
		}
	}
}
