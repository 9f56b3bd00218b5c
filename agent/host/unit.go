package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// A unit is one tool in one transient unit.
type unit struct {
	units   *Units
	name    string
	argv    []string
	started time.Time
	done    chan struct{}
	result  Result
}

// properties describe the unit: it is "activating" while the tool runs, stays
// loaded until its status was read, and is never killed by systemd.
func (p *unit) properties(c Command) []dbus.Property {
	value := func(name string, v any) dbus.Property {
		return dbus.Property{Name: name, Value: godbus.MakeVariant(v)}
	}
	return []dbus.Property{
		dbus.PropDescription("rvol: " + strings.Join(c.Argv, " ")),
		dbus.PropType("oneshot"),
		dbus.PropExecStart(append([]string{c.Path}, c.Argv[1:]...), false),
		dbus.PropRemainAfterExit(true),
		value("Environment", environment()),
		value("KillMode", "mixed"),
		value("SendSIGKILL", false),
		value("StandardInput", "null"),
		value("StandardOutputFile", p.file("out")),
		value("StandardErrorFile", p.file("err")),
	}
}

func (p *unit) file(kind string) string {
	return filepath.Join(p.units.dir, strings.TrimSuffix(p.name, ".service")+"."+kind)
}

func (p *unit) Argv() []string        { return p.argv }
func (p *unit) Unit() string          { return p.name }
func (p *unit) Started() time.Time    { return p.started }
func (p *unit) Done() <-chan struct{} { return p.done }
func (p *unit) Result() Result        { return p.result }

// Pid asks systemd for the main process; 0 when there is none or no answer.
func (p *unit) Pid() int {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	m, err := p.units.manager(ctx)
	if err != nil {
		return 0
	}
	n, err := number(ctx, m, p.name, "MainPID")
	if err != nil {
		return 0
	}
	return n
}

// Kill sends SIGKILL to all of the unit.
func (p *unit) Kill() {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	if m, err := p.units.manager(ctx); err == nil {
		m.KillUnitContext(ctx, p.name, int32(syscall.SIGKILL))
	}
}

// wait ends once the tool has, on systemd's word or when a look at the unit
// says so, and clears the unit away.
func (p *unit) wait(ended <-chan string) {
	poll := time.NewTicker(p.units.poll)
	defer poll.Stop()
	for {
		select {
		case <-ended:
			ended = nil
		case <-poll.C:
		}
		if p.look() {
			close(p.done)
			p.clear()
			return
		}
	}
}

// look reports whether the tool has ended, and if so notes how. Without an
// answer from systemd it has not.
func (p *unit) look() bool {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	m, err := p.units.manager(ctx)
	if err != nil {
		return false
	}
	state, err := m.GetUnitPropertyContext(ctx, p.name, "ActiveState")
	if err != nil {
		return false
	}
	switch state.Value.Value() {
	case "activating", "deactivating", "reloading":
		return false
	}
	p.result = p.read(ctx, m)
	return true
}

func (p *unit) read(ctx context.Context, m manager) Result {
	code, err1 := number(ctx, m, p.name, "ExecMainCode")
	status, err2 := number(ctx, m, p.name, "ExecMainStatus")
	stdout, err3 := readCapped(p.file("out"))
	stderr, err4 := readCapped(p.file("err"))
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return Result{Err: fmt.Errorf("read the result of %s: %w", p.name, err)}
		}
	}
	r := Result{Stdout: stdout, Stderr: stderr, Code: status}
	const exited = 1 // CLD_EXITED of waitid(2); 0 is a unit that never started
	switch code {
	case exited:
	case 0:
		r.Err = fmt.Errorf("systemd did not start %s, or has forgotten it", p.name)
	default:
		r.Code, r.Signal = -1, syscall.Signal(status).String()
	}
	return r
}

// clear makes systemd forget the unit. What fails here is found by the next
// life's Left.
func (p *unit) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	if m, err := p.units.manager(ctx); err == nil {
		_, _ = m.StopUnitContext(ctx, p.name, "replace", nil)
		_ = m.ResetFailedUnitContext(ctx, p.name)
	}
	_ = os.Remove(p.file("out"))
	_ = os.Remove(p.file("err"))
}

func number(ctx context.Context, m manager, unit, property string) (int, error) {
	p, err := m.GetServicePropertyContext(ctx, unit, property)
	if err != nil {
		return 0, err
	}
	switch n := p.Value.Value().(type) {
	case int32:
		return int(n), nil
	case uint32:
		return int(n), nil
	}
	return 0, fmt.Errorf("property %s is %s", property, p.Value)
}

func readCapped(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxOutput {
		return nil, ErrOutputTooLong
	}
	return os.ReadFile(path)
}
