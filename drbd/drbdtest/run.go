package drbdtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rvol/drbd"
)

// refusal is a tool's exit with a code; it fits what drbd.Runner wants.
type refusal struct {
	code   int
	stderr string
}

func (r *refusal) Error() string  { return fmt.Sprintf("exit status %d: %s", r.code, r.stderr) }
func (r *refusal) ExitCode() int  { return r.code }
func (r *refusal) Stderr() []byte { return []byte(r.stderr) }

func refuse(code int, format string, args ...any) error {
	return &refusal{code: code, stderr: fmt.Sprintf(format, args...)}
}

// failed is drbdsetup's "Failure: (%d)", changed the state machine's refusal.
func failed(object any, number int, text string) error {
	return refuse(10, "%v: Failure: (%d) %s", object, number, text)
}

func changed(object any, code, number int, text string) error {
	return refuse(code, "%v: State change failed: (%d) %s", object, number, text)
}

func usage(verb string) error { return refuse(20, "invalid command %s", verb) }

func unknownResource(name string) error {
	return failed(name, 158, "Unknown resource\nadditional info from kernel:\nunknown resource")
}

func unknownMinor(minor drbd.Minor) error {
	return failed(minor, 127, "Device minor not allocated\nadditional info from kernel:\nunknown minor")
}

// Run runs drbdadm, drbdsetup or drbdmeta; it fits drbd.Runner.
func (n *Node) Run(ctx context.Context, argv ...string) ([]byte, error) {
	f := n.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := n.begin(argv); err != nil {
		return nil, err
	}
	run := func() ([]byte, error) {
		out, err := n.dispatch(ctx, argv)
		n.publishNamed(argv)
		return []byte(out), err
	}
	if p := n.fault(plain(argv)); p != nil {
		return n.spoil(ctx, p, run)
	}
	return run()
}

func (n *Node) begin(argv []string) error {
	if n.fabric.closed {
		return errClosed
	}
	if !n.on {
		return errNoPower
	}
	n.runs = append(n.runs, strings.Join(argv, " "))
	return nil
}

// plain is a command line without drbdadm's -c FILE.
func plain(argv []string) string {
	words := slices.Clone(argv)
	if i := slices.Index(words, "-c"); i >= 0 && i+1 < len(words) {
		words = slices.Delete(words, i, i+2)
	}
	return strings.Join(words, " ")
}

func (n *Node) dispatch(ctx context.Context, argv []string) (string, error) {
	if len(argv) < 2 {
		return "", usage("")
	}
	switch argv[0] {
	case "drbdadm":
		return n.drbdadm(ctx, argv[1:])
	case "drbdsetup":
		return n.drbdsetup(ctx, argv[1], argv[2:])
	case "drbdmeta":
		return n.drbdmeta(argv[1:])
	}
	return "", refuse(127, "%s: not found", argv[0])
}

// arguments are a command's words and options, told apart.
type arguments struct {
	words   []string
	options map[string]string
}

func parseArguments(args []string) arguments {
	a := arguments{options: map[string]string{}}
	for _, arg := range args {
		if name, ok := strings.CutPrefix(arg, "--"); ok {
			name, value, given := strings.Cut(name, "=")
			if !given {
				value = "yes"
			}
			a.options[name] = value
			continue
		}
		a.words = append(a.words, arg)
	}
	return a
}

func (a arguments) word(i int) string {
	if i < len(a.words) {
		return a.words[i]
	}
	return ""
}

func (a arguments) number(i int) int {
	n, err := strconv.Atoi(a.word(i))
	if err != nil {
		return -1
	}
	return n
}

// only refuses options that the command does not have.
func (a arguments) only(verb string, known ...string) error {
	for name := range a.options {
		if !slices.Contains(known, name) {
			return refuse(20, "%s: unrecognized option '--%s'", verb, name)
		}
	}
	return nil
}

// over gives options as they are after a command that changes the named ones, or
// with --set-defaults all.
func (a arguments) over(old map[string]string) map[string]string {
	next := map[string]string{}
	if a.options["set-defaults"] == "" {
		maps.Copy(next, old)
	}
	maps.Copy(next, a.options)
	delete(next, "set-defaults")
	return next
}

// drbdsetup runs one of its commands. Those of DRBD 8.4 take a minor where
// those of DRBD 9 take a resource.
func (n *Node) drbdsetup(ctx context.Context, verb string, args []string) (string, error) {
	a := parseArguments(args)
	if out, err, done := n.ask(verb, a); done {
		return out, err
	}
	switch verb {
	case "new-resource":
		n.newResource(a)
		return "", nil
	case "primary", "secondary":
		return "", n.setRole(ctx, verb, a)
	case "new-current-uuid", "attach", "detach", "resize", "check-resize", "invalidate", "resume-io", "del-minor", "disk-options", "outdate":
		return "", n.onDevice(verb, a)
	case "pause-sync", "resume-sync":
		return "", n.pause(drbd.Minor(a.number(0)), verb == "pause-sync")
	case "down":
		return "", n.down(a.word(0))
	case "verify":
		if n.version.Is84() {
			return "", n.onDevice(verb, a)
		}
	}
	return "", n.onResource(verb, a)
}

// ask answers commands that change nothing.
func (n *Node) ask(verb string, a arguments) (string, error, bool) {
	name := a.word(0)
	r := n.resources[name]
	switch verb {
	case "status":
		if n.version.Is84() && a.options["json"] != "" {
			return "", refuse(20, "status: unrecognized option '--json'"), true
		}
		switch {
		case name == "":
			return string(statusJSON(n.sorted())), nil, true
		case r == nil:
			return "[\n]\n", refuse(10, "%s: No such resource", name), true
		}
		return string(statusJSON([]*resource{r})), nil, true
	case "events2":
		if a.options["now"] == "" {
			return "", usage(verb), true
		}
		return n.dump(name), nil, true
	case "show":
		return n.show(), nil, true
	case "get-gi":
		out, err := n.generation(a)
		return out, err, true
	}
	return "", nil, false
}

// dump prints what events2 --now does.
func (n *Node) dump(name string) string {
	var b strings.Builder
	for _, o := range n.objects() {
		if name == "" || strings.HasPrefix(o.key+" ", "name:"+name+" ") {
			fmt.Fprintf(&b, "exists %s %s%s%s\n", o.kind, o.key, o.state, o.counts)
		}
	}
	b.WriteString("exists -\n")
	return b.String()
}

// show prints the options of connections as the kernel gives them to root: with their secrets.
func (n *Node) show() string {
	var b strings.Builder
	for _, r := range n.sorted() {
		fmt.Fprintf(&b, "resource %q {\n", r.name)
		for _, c := range r.connections() {
			b.WriteString("    net {\n")
			for _, option := range slices.Sorted(maps.Keys(c.net)) {
				fmt.Fprintf(&b, "        %-20s %q;\n", option, c.net[option])
			}
			b.WriteString("    }\n")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// generation prints get-gi: the generations and flags of one device.
func (n *Node) generation(a arguments) (string, error) {
	var d *device
	id := drbd.NodeID(0)
	if n.version.Is84() {
		if d = n.device(drbd.Minor(a.number(0))); d == nil {
			return "", unknownMinor(drbd.Minor(a.number(0)))
		}
	} else {
		r := n.resources[a.word(0)]
		if r == nil {
			return "", unknownResource(a.word(0))
		}
		id = drbd.NodeID(a.number(1))
		if d = r.devs[a.number(2)]; d == nil || r.conns[id] == nil {
			return "", failed(a.word(0), 162, "Invalid configuration request")
		}
	}
	if d.md == nil {
		return "", failed(d.minor, 138, "Device does not have a disk")
	}
	var older [2]drbd.UUID
	copy(older[:], d.md.History)
	good := b01(d.md.State == drbd.UpToDate)
	return fmt.Sprintf("%s:%s:%s:%s:%d:%d:%d:0:0:0:0\n", d.md.Current, d.md.peer(id).Bitmap,
		older[0], older[1], b01(d.md.State != drbd.Inconsistent), good, b01(d.md.Primary)), nil
}

func b01(b bool) int {
	if b {
		return 1
	}
	return 0
}
