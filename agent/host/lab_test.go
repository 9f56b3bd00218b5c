//go:build lab

package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Run in a node of the kernel lab, as root:
//
//	go test -c -tags lab ./agent/host && host.test -test.run OnThisMachine

func TestUnitsOnThisMachine(t *testing.T) {
	if !UnderSystemd() {
		t.Fatal("systemd does not run this machine")
	}
	units := NewUnits(filepath.Join("/run", t.Name()))
	t.Cleanup(func() { _ = os.RemoveAll(units.dir) })
	goOn := filepath.Join(t.TempDir(), "go")
	scripts := map[string]string{
		"lvcreate": `echo "made $1"; echo warning >&2; env | grep LC_ALL`,
		"lvremove": "echo no >&2; exit 5",
		"lvchange": "kill -KILL $$",
		"lvextend": "while [ ! -e " + goOn + " ]; do sleep 0.01; done",
	}
	h := tools(t, Config{Changes: units, Deadlines: map[Class]time.Duration{Change: 2 * time.Second}}, scripts)

	start := time.Now()
	out, err := h.Run(t.Context(), "lvcreate", "a b")
	t.Logf("one tool in a unit: %s", time.Since(start))
	if err != nil || string(out) != "made a b\nLC_ALL=C\n" {
		t.Errorf("got %q, %v", out, err)
	}
	_, err = h.Run(t.Context(), "lvremove")
	if refused, ok := errors.AsType[*ExitError](err); !ok || refused.ExitCode() != 5 || string(refused.Stderr()) != "no\n" {
		t.Errorf("got %v", err)
	}
	if _, err = h.Run(t.Context(), "lvchange"); err == nil || err.Error() != "lvchange: killed by signal: killed" {
		t.Errorf("got %v", err)
	}
	_, err = h.Run(t.Context(), "lvextend", "vg0/a")
	stuck, ok := errors.AsType[*StuckError](err)
	if !ok || !strings.HasPrefix(stuck.Unit, unitPrefix) || stuck.Pid == 0 {
		t.Fatalf("got %v", err)
	}
	adopted, err := New(Config{Changes: NewUnits(units.dir)}).Adopt(t.Context())
	if err != nil || len(adopted) != 1 || strings.Join(adopted[0].Command(), " ") != "lvextend vg0/a" {
		t.Fatalf("adopted %v, %v", adopted, err)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-stuck.Done()
	<-adopted[0].Done()
	m, err := units.manager(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.ListUnitsByPatternsContext(t.Context(), nil, []string{unitPrefix + "*"})
	files, _ := filepath.Glob(units.dir + "/*")
	if err != nil || len(list) != 0 || len(files) != 0 {
		t.Errorf("left: %v, %v, %v", list, files, err)
	}
}

// TestToolInTheKernelOnThisMachine waits on a suspended device and cannot be
// killed.
func TestToolInTheKernelOnThisMachine(t *testing.T) {
	dmsetup := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(context.Background(), "dmsetup", args...).CombinedOutput(); err != nil {
			t.Fatalf("dmsetup %q: %v: %s", args, err, out)
		}
	}
	dmsetup("create", "rvoltest", "--table", "0 2048 zero")
	t.Cleanup(func() { dmsetup("remove", "--retry", "rvoltest") })
	dmsetup("suspend", "rvoltest")
	h := New(Config{Deadlines: map[Class]time.Duration{Long: time.Second}})
	_, err := h.Run(t.Context(), "blkdiscard", "--zeroout", "/dev/mapper/rvoltest")
	t.Log(err)
	stuck, ok := errors.AsType[*StuckError](err)
	if !ok || stuck.State != "D" || stuck.Wchan == "" {
		dmsetup("resume", "rvoltest")
		t.Fatalf("got %+v, %v", stuck, err)
	}
	dmsetup("resume", "rvoltest")
	<-stuck.Done()
	if err := h.Wait(t.Context()); err != nil || len(h.Stuck()) != 0 {
		t.Errorf("afterwards: %v, %v", h.Stuck(), err)
	}
}
