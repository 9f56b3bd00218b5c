package host

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Stuck is a tool that did not end in time and still runs.
type Stuck struct {
	Argv  []string
	Pid   int
	Unit  string // systemd unit it runs in; "" when it is a child
	State string // of /proc/PID/stat: "D" is waiting in the kernel
	Wchan string // the kernel function it waits in
	Since time.Time
}

func newStuck(p Process) Stuck {
	s := Stuck{Argv: p.Argv(), Pid: p.Pid(), Unit: p.Unit(), Since: p.Started()}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", s.Pid)); err == nil {
		s.Wchan = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Pid)); err == nil {
		// The name in brackets may hold anything; the state follows the last one.
		if i := strings.LastIndex(string(b), ") "); i >= 0 && len(b) > i+2 {
			s.State = string(b[i+2])
		}
	}
	return s
}

// String is "lvremove (pid 812, state D, in wait_for_completion)".
func (s Stuck) String() string {
	text := fmt.Sprintf("%s (pid %d", s.Argv[0], s.Pid)
	if s.State != "" {
		text += ", state " + s.State
	}
	if s.Wchan != "" && s.Wchan != "0" {
		text += ", in " + s.Wchan
	}
	return text + ")"
}

// A StuckError is returned by Run for a tool that it had to leave running.
type StuckError struct {
	Stuck
	Cause error
	done  <-chan struct{}
}

// Error says which process is stuck and where.
func (e *StuckError) Error() string { return fmt.Sprintf("%s is stuck: %v", e.Stuck, e.Cause) }

// Unwrap gives the cause.
func (e *StuckError) Unwrap() error { return e.Cause }

// Done is closed when the tool has ended after all. Nobody knows then whether it
// did what it was asked: look.
func (e *StuckError) Done() <-chan struct{} { return e.done }

// Command is what the tool was asked.
func (e *StuckError) Command() []string { return e.Argv }
