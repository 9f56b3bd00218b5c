package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"
)

// systemd is a manager that runs units as children of the test.
type systemd struct {
	mu      sync.Mutex
	units   map[string]*fakeUnit
	silent  bool // its word that a job is done gets lost
	lost    bool // the connection
	mute    bool // the answer to a start gets lost
	refuse  bool // to start anything
	running sync.WaitGroup
}

type fakeUnit struct {
	properties map[string]any
	state      string
	pid        int
	code       int32
	status     int32
}

func newSystemd(t *testing.T) *systemd {
	t.Helper()
	s := &systemd{units: map[string]*fakeUnit{}}
	t.Cleanup(s.running.Wait)
	return s
}

func (s *systemd) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.lost
}

func (s *systemd) StartTransientUnitContext(_ context.Context, name, mode string, properties []dbus.Property, ch chan<- string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.units[name] != nil && mode == "fail" {
		return 0, godbus.Error{Name: "org.freedesktop.systemd1.UnitExists"}
	}
	u := &fakeUnit{properties: map[string]any{}, state: "activating"}
	for _, p := range properties {
		u.properties[p.Name] = p.Value.Value()
	}
	stdout, err1 := os.Create(u.properties["StandardOutputFile"].(string))
	stderr, err2 := os.Create(u.properties["StandardErrorFile"].(string))
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	argv := argvOf(u)
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...)
	cmd.Env, _ = u.properties["Environment"].([]string)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if s.refuse {
		return 0, godbus.Error{Name: "org.freedesktop.DBus.Error.AccessDenied"}
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	u.pid = cmd.Process.Pid
	s.units[name] = u
	s.running.Go(func() {
		err := cmd.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		u.code, u.state = 1, "active"
		if err != nil {
			u.state, u.status = "failed", int32(cmd.ProcessState.ExitCode())
			if u.status < 0 {
				u.code, u.status = 2, 9
			}
		}
		if ch != nil && !s.silent {
			ch <- "done"
		}
	})
	if s.mute {
		return 0, context.DeadlineExceeded
	}
	return 1, nil
}

// argvOf reads the command of a list of (path, argv, unclean).
func argvOf(u *fakeUnit) []string {
	return reflect.ValueOf(u.properties["ExecStart"]).Index(0).Field(1).Interface().([]string)
}

func (s *systemd) StopUnitContext(_ context.Context, name, _ string, _ chan<- string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.units[name]; u != nil && u.state == "active" {
		delete(s.units, name)
	}
	return 1, nil
}

func (s *systemd) ResetFailedUnitContext(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.units[name]; u != nil && u.state == "failed" {
		delete(s.units, name)
	}
	return nil
}

func (s *systemd) KillUnitContext(_ context.Context, name string, _ int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, err := os.FindProcess(s.units[name].pid); err == nil {
		_ = p.Kill()
	}
}

func (s *systemd) ListUnitsByPatternsContext(_ context.Context, _, patterns []string) ([]dbus.UnitStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []dbus.UnitStatus
	for name, u := range s.units {
		if ok, _ := filepath.Match(patterns[0], name); ok {
			list = append(list, dbus.UnitStatus{Name: name, ActiveState: u.state})
		}
	}
	return list, nil
}

func (s *systemd) GetUnitPropertyContext(_ context.Context, unit, property string) (*dbus.Property, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return nil, errors.New("no answer")
	}
	state := "inactive" // of a unit that it never heard of
	if u := s.units[unit]; u != nil {
		state = u.state
	}
	return &dbus.Property{Name: property, Value: godbus.MakeVariant(state)}, nil
}

func (s *systemd) GetServicePropertyContext(_ context.Context, unit, property string) (*dbus.Property, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.units[unit]
	if u == nil || s.lost {
		return nil, errors.New("no answer")
	}
	values := map[string]any{
		"MainPID": uint32(u.pid), "ExecMainCode": u.code, "ExecMainStatus": u.status,
		"ExecStart": [][]any{{argvOf(u)[0], argvOf(u), false, uint64(0)}},
	}
	return &dbus.Property{Name: property, Value: godbus.MakeVariant(values[property])}, nil
}

func (s *systemd) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.units)
}

func (s *systemd) launcher(dir string) *Units {
	return &Units{dir: dir, poll: 10 * time.Millisecond, dial: func(context.Context) (manager, error) {
		if !s.Connected() {
			return nil, errors.New("no such file or directory")
		}
		return s, nil
	}}
}

func TestToolInAUnit(t *testing.T) {
	for _, silent := range []bool{false, true} {
		s := newSystemd(t)
		s.silent = silent
		dir := filepath.Join(t.TempDir(), "tools")
		h := tools(t, Config{Changes: s.launcher(dir)}, map[string]string{
			"lvcreate": `echo "made $1"; echo warning >&2; /usr/bin/env | grep LC_ALL`,
			"lvremove": "echo no >&2; exit 5",
			"lvchange": "kill -KILL $$",
		})
		out, err := h.Run(t.Context(), "lvcreate", "a b")
		if err != nil || string(out) != "made a b\nLC_ALL=C\n" {
			t.Errorf("got %q, %v", out, err)
		}
		_, err = h.Run(t.Context(), "lvremove")
		if refused, ok := errors.AsType[*ExitError](err); !ok || refused.ExitCode() != 5 || string(refused.Stderr()) != "no\n" {
			t.Errorf("got %v", err)
		}
		_, err = h.Run(t.Context(), "lvchange")
		if err == nil || err.Error() != "lvchange: killed by signal: killed" {
			t.Errorf("got %v", err)
		}
		// A unit is cleared away behind the back of whoever ran the tool.
		waitUntil(t, "no unit and no output is left", func() bool {
			left, err := os.ReadDir(dir)
			return err == nil && len(left) == 0 && s.count() == 0
		})
	}
}

func TestUnitIsNeverKilledAndKeepsItsStatus(t *testing.T) {
	p := &unit{units: &Units{dir: "/run/rvol-agent/tools"}, name: "rvol-tool-1.service"}
	got := map[string]any{}
	for _, property := range p.properties(Command{Path: "/usr/sbin/lvremove", Argv: []string{"lvremove", "vg0/a"}}) {
		got[property.Name] = property.Value.Value()
	}
	delete(got, "ExecStart")
	want := map[string]any{
		"Description": "rvol: lvremove vg0/a", "Type": "oneshot", "RemainAfterExit": true,
		"Environment": environment(), "KillMode": "mixed", "SendSIGKILL": false, "StandardInput": "null",
		"StandardOutputFile": "/run/rvol-agent/tools/rvol-tool-1.out",
		"StandardErrorFile":  "/run/rvol-agent/tools/rvol-tool-1.err",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestToolOutlivesTheAgent is left by one Host and adopted by the next.
func TestToolOutlivesTheAgent(t *testing.T) {
	s := newSystemd(t)
	dir := t.TempDir()
	goOn := filepath.Join(dir, "go")
	scripts := map[string]string{
		"lvremove": "while [ ! -e " + goOn + " ]; do /bin/sleep 0.01; done",
		"lvcreate": "exit 0",
	}
	first := tools(t, Config{Changes: s.launcher(dir), Deadlines: map[Class]time.Duration{Change: 50 * time.Millisecond}}, scripts)
	_, err := first.Run(t.Context(), "lvremove", "vg0/a")
	stuck, ok := errors.AsType[*StuckError](err)
	if !ok || !strings.HasPrefix(stuck.Unit, unitPrefix) || stuck.Pid == 0 {
		t.Fatalf("got %v", err)
	}
	// A unit that ended while no agent was there to see it.
	forgotten := &unit{units: s.launcher(dir), name: "rvol-tool-forgotten.service"}
	if _, err := s.StartTransientUnitContext(t.Context(), forgotten.name, "fail",
		forgotten.properties(Command{Path: "/bin/true", Argv: []string{"true"}}), nil); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "it has ended", func() bool {
		p, _ := s.GetUnitPropertyContext(t.Context(), forgotten.name, "")
		return p.Value.Value() == "active"
	})

	second := tools(t, Config{Changes: s.launcher(dir)}, scripts)
	adopted, err := second.Adopt(t.Context())
	if err != nil || len(adopted) != 1 {
		t.Fatalf("adopted %v, %v", adopted, err)
	}
	if diff := cmp.Diff([]string{"lvremove", "vg0/a"}, adopted[0].Command()); diff != "" {
		t.Error(diff)
	}
	if s.count() != 1 {
		t.Errorf("%d units, want one", s.count())
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-adopted[0].Done()
	<-stuck.Done()
	if list := second.Stuck(); len(list) != 0 {
		waitUntil(t, "nothing is stuck", func() bool { return len(second.Stuck()) == 0 })
	}
}

func TestLostConnectionIsMadeAgain(t *testing.T) {
	s := newSystemd(t)
	s.silent = true
	dir := t.TempDir()
	goOn := filepath.Join(dir, "go")
	h := tools(t, Config{Changes: s.launcher(dir)}, map[string]string{
		"lvremove": "while [ ! -e " + goOn + " ]; do /bin/sleep 0.01; done; echo done",
	})
	type outcome struct {
		out []byte
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		out, err := h.Run(t.Context(), "lvremove", "vg0/a")
		ended <- outcome{out, err}
	}()
	waitUntil(t, "it runs", func() bool { return s.count() == 1 })
	s.set(true)
	if _, err := h.Run(t.Context(), "lvremove", "vg0/b"); err == nil || !strings.Contains(err.Error(), "connect to systemd") {
		t.Errorf("without a connection: %v", err)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.running.Wait()
	s.set(false)
	if o := <-ended; o.err != nil || string(o.out) != "done\n" {
		t.Errorf("got %q, %v", o.out, o.err)
	}
}

func (s *systemd) set(lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = lost
}

func TestKillingAUnit(t *testing.T) {
	s := newSystemd(t)
	u := s.launcher(t.TempDir())
	p, err := u.Launch(t.Context(), Command{Path: "/bin/sleep", Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	<-p.Done()
	if r := p.Result(); r.Signal != "killed" {
		t.Errorf("got %+v", r)
	}
}

func TestStartWithoutAnAnswer(t *testing.T) {
	s := newSystemd(t)
	s.mute = true
	h := tools(t, Config{Changes: s.launcher(t.TempDir())}, map[string]string{"lvcreate": "echo made"})
	if out, err := h.Run(t.Context(), "lvcreate"); err != nil || string(out) != "made\n" {
		t.Errorf("it was started all the same: %q, %v", out, err)
	}
	s.refuse = true
	if _, err := h.Run(t.Context(), "lvcreate"); err == nil || !strings.Contains(err.Error(), "start lvcreate in rvol-tool-") {
		t.Errorf("it was refused: %v", err)
	}
}
