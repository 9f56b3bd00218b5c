package lvmtest

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// An ExitError is a simulated tool that refused.
type ExitError struct {
	tool   string
	code   int
	stderr string
}

// Error names the tool and its exit status.
func (e *ExitError) Error() string { return fmt.Sprintf("%s: exit status %d", e.tool, e.code) }

// ExitCode is the exit status.
func (e *ExitError) ExitCode() int { return e.code }

// Stderr is what the tool said.
func (e *ExitError) Stderr() []byte { return []byte(e.stderr) }

// Exit codes of LVM, tools/errors.h.
const (
	exitBadCommand = 3
	exitFailed     = 5
)

// A refusal is how a command fails: its exit code and its words.
type refusal struct {
	code int
	text string
}

func failed(lines ...string) *refusal { return &refusal{exitFailed, joined(lines)} }

func badCommand(lines ...string) *refusal { return &refusal{exitBadCommand, joined(lines)} }

func joined(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

func groupNotFound(vg string) *refusal {
	return failed(fmt.Sprintf("Volume group %q not found", vg), "Cannot process volume group "+vg)
}

func lvNotFound(vg, lv string) *refusal {
	return failed(fmt.Sprintf("Failed to find logical volume %q", vg+"/"+lv))
}

// Run runs one command; it fits lvm.Runner.
func (m *Machine) Run(ctx context.Context, argv ...string) ([]byte, error) {
	if err := m.start(argv); err != nil {
		return nil, err
	}
	if err := m.hung(ctx, argv); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if out, ok := m.faults.garbage[verbOf(argv)]; ok {
		return []byte(out), nil
	}
	if f := m.failure(verbOf(argv)); f != nil {
		return nil, &ExitError{argv[0], f.code, f.stderr}
	}
	out, refused := m.execute(argv)
	if refused != nil {
		return []byte(out), &ExitError{argv[0], refused.code, refused.text}
	}
	return []byte(out), nil
}

func (m *Machine) start(argv []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands = append(m.commands, slices.Clone(argv))
	if m.faults.missing[argv[0]] {
		return &fs.PathError{Op: "run", Path: argv[0], Err: fs.ErrNotExist}
	}
	return nil
}

func (m *Machine) failure(verb string) *failure {
	for i, f := range m.faults.failures {
		if f.verb != verb {
			continue
		}
		if f.after == 0 {
			m.faults.failures = slices.Delete(m.faults.failures, i, i+1)
			return f
		}
		f.after--
	}
	return nil
}

// execute does the work of a command.
func (m *Machine) execute(argv []string) (string, *refusal) {
	verbs := map[string]func(args) (string, *refusal){
		"fullreport": m.fullreport,
		"vgcreate":   m.vgcreate,
		"vgchange":   m.vgchange,
		"lvcreate":   m.lvcreate,
		"lvextend":   m.lvextend,
		"lvremove":   m.lvremove,
		"lvchange":   m.lvchange,
		"wipefs":     m.wipefs,
		"blkdiscard": m.blkdiscard,
		"version":    func(args) (string, *refusal) { return toolVersion, nil },
		"lvmconfig":  m.lvmconfig,
	}
	verb := verbOf(argv)
	do, ok := verbs[verb]
	if !ok {
		return "", badCommand(fmt.Sprintf("the simulation has no command %q", verb))
	}
	at := slices.Index(argv, verb)
	a, err := parse(argv[at+1:])
	if err != nil {
		return "", badCommand(err.Error())
	}
	return do(a)
}

// args is a command line after its verb.
type args struct {
	options map[string][]string
	names   []string // what is no option
	order   []string // options and their values, in turn
}

// parse reads the options that package lvm uses. All but a few take a value.
func parse(argv []string) (args, error) {
	a := args{options: map[string][]string{}}
	for i := 0; i < len(argv); i++ {
		option := argv[i]
		switch {
		case !strings.HasPrefix(option, "-"):
			a.names = append(a.names, option)
		case slices.Contains([]string{"--yes", "--nosuffix", "--json", "--zeroout", "--force"}, option):
			a.options[option] = append(a.options[option], "")
		case i+1 == len(argv):
			return a, fmt.Errorf("option %s requires an argument", option)
		default:
			i++
			a.options[option] = append(a.options[option], argv[i])
			a.order = append(a.order, option, argv[i])
		}
	}
	return a, nil
}

func (a args) has(option string) bool { return len(a.options[option]) > 0 }

func (a args) value(option string) string {
	if !a.has(option) {
		return ""
	}
	return a.options[option][0]
}

// only refuses options that the simulation gives no meaning to.
func (a args) only(options ...string) *refusal {
	for option := range a.options {
		if !slices.Contains(options, option) {
			return badCommand(fmt.Sprintf("the simulation does not know option %s here", option))
		}
	}
	return nil
}

// bytes reads a size such as "4096b".
func (a args) bytes(option string) (int64, *refusal) {
	text := a.value(option)
	var n int64
	if _, err := fmt.Sscanf(text, "%db", &n); err != nil {
		return 0, badCommand(fmt.Sprintf("Invalid argument for %s: %s", option, text), "Error during parsing of command line.")
	}
	if n%512 != 0 {
		lower := n - n%512
		return 0, badCommand(
			fmt.Sprintf("Size is not a multiple of 512. Try using %d or %d.", lower, lower+512),
			fmt.Sprintf("Invalid argument for %s: %s", option, text),
			"Error during parsing of command line.")
	}
	if n == 0 {
		return 0, badCommand(option + " may not be zero.")
	}
	return n, nil
}
