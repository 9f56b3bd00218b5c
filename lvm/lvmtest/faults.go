package lvmtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// faults is what is made to go wrong.
type faults struct {
	failures []*failure
	hangs    []*hang
	garbage  map[string]string
	missing  map[string]bool
}

type failure struct {
	verb   string
	after  int // commands of that verb that still go well
	code   int
	stderr string
}

// Fail makes the n-th command of a verb from now, 1 being the next, end with
// code and stderr, without effect, unless undo is called before. The verb of a
// report is "fullreport".
func (m *Machine) Fail(verb string, n, code int, stderr string) (undo func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := &failure{verb, n - 1, code, stderr}
	m.faults.failures = append(m.faults.failures, f)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.faults.failures = slices.DeleteFunc(m.faults.failures, func(x *failure) bool { return x == f })
	}
}

// Garble makes the commands of a verb print output instead of their own, until
// it is called again with "".
func (m *Machine) Garble(verb, output string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.faults.garbage == nil {
		m.faults.garbage = map[string]string{}
	}
	m.faults.garbage[verb] = output
	if output == "" {
		delete(m.faults.garbage, verb)
	}
}

// Uninstall makes a tool be missing.
func (m *Machine) Uninstall(tool string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.faults.missing == nil {
		m.faults.missing = map[string]bool{}
	}
	m.faults.missing[tool] = true
}

// LoseDisk makes a disk vanish, with its content.
func (m *Machine) LoseDisk(path string) { m.set(path, func(d *disk) { d.present = false }) }

// ReturnDisk brings a lost disk back as it was.
func (m *Machine) ReturnDisk(path string) { m.set(path, func(d *disk) { d.present = true }) }

// BreakDisk makes every transfer from and to a disk fail with EIO.
func (m *Machine) BreakDisk(path string) { m.set(path, func(d *disk) { d.broken = true }) }

// MendDisk undoes BreakDisk.
func (m *Machine) MendDisk(path string) { m.set(path, func(d *disk) { d.broken = false }) }

// Rotate makes a disk one that cannot discard.
func (m *Machine) Rotate(path string) { m.set(path, func(d *disk) { d.rotates = true }) }

func (m *Machine) set(path string, change func(*disk)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.disks {
		if d.path == path {
			change(d)
		}
	}
}

// ReplaceGroup makes the group come back empty under another UUID, as if its
// disks had been given away and prepared anew.
func (m *Machine) ReplaceGroup(vg string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.group(vg); g != nil {
		g.uuid, g.tags, g.lvs, g.seqno = m.uuid(), nil, nil, 1
		for _, d := range g.disks {
			clear(d.used)
		}
	}
}

// A hang is a command that does not end.
type hang struct {
	verb     string
	released chan struct{}
	vgs      []string // locked by commands that hang
	later    []func() // what they do when they are released
}

// Hang makes commands of a verb hang, and with them whatever needs the lock on
// their volume groups, until release is called: then they do their work.
func (m *Machine) Hang(verb string) (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := &hang{verb: verb, released: make(chan struct{})}
	m.faults.hangs = append(m.faults.hangs, h)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.faults.hangs = slices.DeleteFunc(m.faults.hangs, func(x *hang) bool { return x == h })
		for _, work := range h.later {
			work()
		}
		h.later = nil
		close(h.released)
	}
}

// patience is how long a Runner waits for a command that hangs.
const patience = 2 * time.Minute

// A StuckError is what a Runner returns for a command that had to be left
// running, like that of agent/host.
type StuckError struct {
	argv []string
	done chan struct{}
}

// Error names the command.
func (e *StuckError) Error() string { return e.argv[0] + " is stuck" }

// Command is what it was asked.
func (e *StuckError) Command() []string { return e.argv }

// Done is closed when it has ended after all.
func (e *StuckError) Done() <-chan struct{} { return e.done }

// hung waits as long as argv hangs, itself or behind a command that locks its
// group. It returns an error when ctx or patience ends first.
func (m *Machine) hung(ctx context.Context, argv []string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		m.mu.Lock()
		h, itself := m.hangOf(argv)
		if h == nil {
			m.mu.Unlock()
			return nil
		}
		if vg := groupOf(argv); itself && vg != "" {
			h.vgs = append(h.vgs, vg)
		}
		m.mu.Unlock()
		select {
		case <-h.released:
			continue
		case <-ctx.Done():
		}
		if reads(argv) {
			return fmt.Errorf("%s: ended: %w", argv[0], ctx.Err())
		}
		return m.leave(h, argv)
	}
}

func (m *Machine) leave(h *hang, argv []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	stuck := &StuckError{argv: argv, done: make(chan struct{})}
	h.later = append(h.later, func() {
		_, _ = m.execute(argv) // whoever asked has gone
		close(stuck.done)
	})
	return stuck
}

func (m *Machine) hangOf(argv []string) (h *hang, itself bool) {
	for _, h := range m.faults.hangs {
		if h.verb == verbOf(argv) {
			return h, true
		}
	}
	vg := groupOf(argv)
	for _, h := range m.faults.hangs {
		if len(h.vgs) > 0 && (vg == "" && verbOf(argv) == "fullreport" || slices.Contains(h.vgs, vg)) {
			return h, false
		}
	}
	return nil, false
}

// reads reports whether a command may be killed.
func reads(argv []string) bool {
	return slices.Contains([]string{"fullreport", "wipefs", "blkdiscard"}, verbOf(argv))
}

func verbOf(argv []string) string {
	if argv[0] == "lvm" && len(argv) > 1 {
		return argv[1]
	}
	return argv[0]
}

// groupOf is the volume group that a command locks; "" for all of them.
func groupOf(argv []string) string {
	last := argv[len(argv)-1]
	switch verbOf(argv) {
	case "wipefs", "blkdiscard":
		return "/"
	case "vgcreate":
		last = argv[len(argv)-2]
	case "fullreport":
		if strings.Contains(last, "=") {
			return ""
		}
	}
	vg, _, _ := strings.Cut(last, "/")
	return vg
}
