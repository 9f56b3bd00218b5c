package script

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Params are the parameters of one run of scripts.
type Params struct {
	Files []string
	World func() World // asked at the start of each script
	Dir   string       // where scripts have their files
}

// Run runs scripts on t, which is a *testing.T in a coat of testscript's; see Bubble.
func Run(t testscript.T, p Params) {
	r := &runner{}
	testscript.RunT(t, testscript.Params{
		Files:              p.Files,
		WorkdirRoot:        p.Dir,
		RequireUniqueNames: true,
		Setup: func(*testscript.Env) error {
			r.w = p.World()
			return nil
		},
		Condition: func(cond string) (bool, error) { return cond == r.w.Name(), nil },
		Cmds:      r.commands(),
	})
}

// runner carries out the lines of one script.
type runner struct{ w World }

type command = func(ts *testscript.TestScript, neg bool, args []string)

func (r *runner) commands() map[string]command {
	one := func(f func(node string) error) command {
		return func(ts *testscript.TestScript, neg bool, args []string) {
			usage(ts, args, 1)
			check(ts, neg, f(args[0]))
		}
	}
	return map[string]command{
		"rvol":        r.rvol,
		"eventually":  r.eventually,
		"poweroff":    one(func(n string) error { return r.w.Kill(n) }),
		"poweron":     one(func(n string) error { return r.w.Start(n) }),
		"isolate":     one(func(n string) error { return r.w.Isolate(n) }),
		"mend":        one(func(n string) error { return r.w.Mend(n) }),
		"agent":       r.process(func() (stop, start func(string) error) { return r.w.StopAgent, r.w.StartAgent }),
		"coordinator": r.process(func() (stop, start func(string) error) { return r.w.StopCoordinator, r.w.StartCoordinator }),
		"cut":         r.cut,
		"heal":        func(ts *testscript.TestScript, neg bool, _ []string) { check(ts, neg, r.w.Heal()) },
		"tool":        r.tool,
		"holds":       r.holds,
		"write":       r.write,
		"read":        r.read,
		"hold":        r.hold,
		"release": func(ts *testscript.TestScript, neg bool, args []string) {
			usage(ts, args, 2)
			check(ts, neg, r.w.Release(args[0], args[1]))
		},
		"fault":     r.fault,
		"disk":      r.disk,
		"corrupt":   r.corrupt,
		"reinstall": one(func(n string) error { return r.hardware().Reinstall(context.Background(), n) }),
		"foreign":   r.foreign,
		"leader":    r.leader,
		"advance":   r.advance,
	}
}

func usage(ts *testscript.TestScript, args []string, least int) {
	if len(args) < least {
		ts.Fatalf("too few arguments: want %d", least)
	}
}

func check(ts *testscript.TestScript, neg bool, err error) {
	switch {
	case err != nil && !neg:
		ts.Fatalf("%v", err)
	case err == nil && neg:
		ts.Fatalf("succeeded, want a refusal")
	}
}

// rvol runs one command; `rvol ?5 volume create ...` demands exit status 5. Its output
// is for the stdout, stderr and cmp commands that follow.
func (r *runner) rvol(ts *testscript.TestScript, neg bool, args []string) {
	want := 0
	if len(args) > 0 && strings.HasPrefix(args[0], "?") {
		n, err := strconv.Atoi(args[0][1:])
		ts.Check(err)
		want, args = n, args[1:]
	}
	out, errs, code := r.run(args)
	fmt.Fprint(ts.Stdout(), out)
	fmt.Fprint(ts.Stderr(), errs)
	switch {
	case neg && code == 0:
		ts.Fatalf("exit status 0, want a failure")
	case !neg && code != want:
		ts.Fatalf("exit status %d, want %d\n%s%s", code, want, out, errs)
	}
}

func (r *runner) run(args []string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	code = r.w.Rvol(ctx, &out, &errs, args)
	return out.String(), errs.String(), code
}

// patience is how long a command may take, and how long eventually waits.
const patience = 2 * time.Minute

// eventually REGEXP... -- rvol command: repeats the command until its output matches every
// expression, and none that starts with '!'.
func (r *runner) eventually(ts *testscript.TestScript, neg bool, args []string) {
	i := slices.Index(args, "--")
	if i < 1 || neg {
		ts.Fatalf("usage: eventually TEXT... -- RVOL-ARGUMENTS")
	}
	texts, args := args[:i], args[i+1:]
	for waited := time.Duration(0); ; waited += 200 * time.Millisecond {
		out, errs, code := r.run(args)
		missing := slices.IndexFunc(texts, func(s string) bool {
			s, not := strings.CutPrefix(s, "!")
			return regexp.MustCompile("(?m)"+s).MatchString(out) == not
		})
		if missing < 0 {
			fmt.Fprint(ts.Stdout(), out)
			return
		}
		if waited > patience {
			ts.Fatalf("after %v still not %q (exit status %d):\n%s%s", patience, texts[missing], code, out, errs)
		}
		r.w.Advance(200 * time.Millisecond)
	}
}

// process: `agent stop n1`, `coordinator start n2`.
func (r *runner) process(ways func() (stop, start func(string) error)) command {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		usage(ts, args, 2)
		stop, start := ways()
		switch args[0] {
		case "stop":
			check(ts, neg, stop(args[1]))
		case "start":
			check(ts, neg, start(args[1]))
		default:
			ts.Fatalf("want stop or start, not %q", args[0])
		}
	}
}

// disk: `disk n1 vg0 break`.
func (r *runner) disk(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, args, 3)
	check(ts, neg, r.hardware().Disk(args[0], args[1], args[2]))
}

// hardware is the world's, or one that refuses.
func (r *runner) hardware() Hardware {
	if h, ok := r.w.(Hardware); ok {
		return h
	}
	return sealed{r.w.Name()}
}

// sealed is the hardware of a world whose machines cannot be taken apart.
type sealed struct{ world string }

func (s sealed) Disk(string, string, string) error { return s.refuse() }

func (s sealed) Reinstall(context.Context, string) error { return s.refuse() }

func (s sealed) refuse() error {
	return fmt.Errorf("machines of the world %q cannot be taken apart: the script is for another", s.world)
}

func (r *runner) cut(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, args, 2)
	oneWay := args[0] == "-one-way"
	if oneWay {
		args = args[1:]
	}
	usage(ts, args, 2)
	check(ts, neg, r.w.Cut(args[0], args[1], oneWay))
}

// tool NODE ARGV...: what the administrator of the node would see.
func (r *runner) tool(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, args, 2)
	out, err := r.w.Tool(context.Background(), args[0], args[1:])
	fmt.Fprint(ts.Stdout(), out)
	check(ts, neg, err)
}

// holds NODE: what the node holds of rvol's, for stdout.
func (r *runner) holds(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, args, 1)
	out, err := r.w.Holds(context.Background(), args[0])
	fmt.Fprint(ts.Stdout(), out)
	check(ts, neg, err)
}

// write NODE VOLUME TEXT [OFFSET].
func (r *runner) write(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, args, 3)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	check(ts, neg, r.w.Write(ctx, args[0], args[1], offset(ts, args[3:]), []byte(args[2])))
}

// read NODE VOLUME TEXT [OFFSET]: what is read must be TEXT.
func (r *runner) read(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, args, 3)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	got, err := r.w.Read(ctx, args[0], args[1], offset(ts, args[3:]), int64(len(args[2])))
	if err == nil && string(got) != args[2] {
		err = fmt.Errorf("%s on %s holds %q, want %q", args[1], args[0], got, args[2])
	}
	check(ts, neg, err)
}

func offset(ts *testscript.TestScript, args []string) int64 {
	if len(args) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	return n
}

func (r *runner) hold(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, args, 3)
	check(ts, neg, r.w.Hold(args[0], args[1], args[2]))
}

// fault NODE VERB hang|garbage|fail [CODE TEXT].
func (r *runner) fault(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, args, 3)
	check(ts, neg, r.w.Fault(args[0], args[1], args[2], args[3:]))
}

// corrupt NODE VG/LV OFFSET: writes a block that nobody asked for.
func (r *runner) corrupt(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, args, 3)
	check(ts, neg, r.w.Corrupt(context.Background(), args[0], args[1], offset(ts, args[2:]), bytes.Repeat([]byte{0xA5}, 4096)))
}

// foreign NODE VG NAME BYTES.
func (r *runner) foreign(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, args, 4)
	size, err := strconv.ParseInt(args[3], 10, 64)
	ts.Check(err)
	check(ts, neg, r.w.Foreign(args[0], args[1], args[2], size))
}

// leader VAR: puts the leader's node into the environment.
func (r *runner) leader(ts *testscript.TestScript, _ bool, args []string) {
	usage(ts, args, 1)
	name, err := r.w.Leader(context.Background())
	ts.Check(err)
	ts.Setenv(args[0], name)
}

func (r *runner) advance(ts *testscript.TestScript, _ bool, args []string) {
	usage(ts, args, 1)
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	r.w.Advance(d)
}
