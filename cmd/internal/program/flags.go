package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Flags are the flags of a verb. Each has a twin in the environment, which the flag
// overrides: RVOL_AGENT_STATE is --state of rvol-agent.
type Flags struct {
	set    *flag.FlagSet
	prefix string
	env    map[string]string
	twins  []string // in the environment, of the flags so far
	err    error
}

// NewFlags begins the flags of a verb, in an environment of NAME=VALUE; help and complaints go to out.
func NewFlags(program, verb string, environ []string, out io.Writer) *Flags {
	f := &Flags{set: flag.NewFlagSet(program+" "+verb, flag.ContinueOnError), prefix: envName(program) + "_", env: map[string]string{}}
	for _, setting := range environ {
		if name, value, _ := strings.Cut(setting, "="); strings.HasPrefix(name, f.prefix) {
			f.env[name] = value
		}
	}
	f.set.SetOutput(out)
	return f
}

func envName(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

func (f *Flags) twin(name string) string {
	twin := f.prefix + envName(name)
	f.twins = append(f.twins, twin)
	return f.env[twin]
}

// Strict refuses settings in the environment that are no flag's twin: what is misspelt in a
// file of settings must not be mistaken for what is in force. It comes after the flags; the
// names besides are settings that are read elsewhere.
func (f *Flags) Strict(besides ...string) {
	for _, name := range slices.Sorted(maps.Keys(f.env)) {
		if !slices.Contains(f.twins, name) && !slices.Contains(besides, name) {
			f.err = errors.Join(f.err, fmt.Errorf("unknown setting %s: there are %s", name, strings.Join(f.twins, ", ")))
		}
	}
}

// Text is a flag that takes anything.
func (f *Flags) Text(into *string, name, def, usage string) {
	if v := f.twin(name); v != "" {
		def = v
	}
	f.set.StringVar(into, name, def, usage)
}

// Duration is a flag that takes a number and its unit.
func (f *Flags) Duration(into *time.Duration, name string, def time.Duration, usage string) {
	if v := f.twin(name); v != "" {
		d, err := time.ParseDuration(v)
		f.note(name, v, "a duration", err)
		def = d
	}
	f.set.DurationVar(into, name, def, usage)
}

// Number is a flag that takes a number above 0.
func (f *Flags) Number(into *int, name string, def int, usage string) {
	set := func(v string) error {
		n, err := strconv.Atoi(v)
		if err == nil && n < 1 {
			err = errors.New("want at least 1")
		}
		*into = n
		return err
	}
	*into = def
	if v := f.twin(name); v != "" {
		f.note(name, v, "a number above 0", set(v))
	}
	f.set.Var(number{into, set}, name, usage)
}

// number is the value of such a flag.
type number struct {
	is  *int
	set func(string) error
}

// String is the default, for the help.
func (n number) String() string {
	if n.is == nil {
		return "0" // what the help compares with
	}
	return strconv.Itoa(*n.is)
}

// Set reads what was given.
func (n number) Set(v string) error { return n.set(v) }

// Switch is a flag that is given or not.
func (f *Flags) Switch(into *bool, name, usage string) {
	def := false
	if v := f.twin(name); v != "" {
		b, err := strconv.ParseBool(v)
		f.note(name, v, "true or false", err)
		def = b
	}
	f.set.BoolVar(into, name, def, usage)
}

func (f *Flags) note(name, value, want string, err error) {
	if err != nil {
		f.err = errors.Join(f.err, fmt.Errorf("environment of --%s: %q is not %s", name, value, want))
	}
}

// List is a flag that may be given several times; its twin has commas.
func (f *Flags) List(into *[]string, name, usage string) {
	if v := f.twin(name); v != "" {
		*into = strings.Split(v, ",")
	}
	given := false
	f.set.Func(name, usage, func(v string) error {
		if !given {
			*into, given = nil, true
		}
		*into = append(*into, v)
		return nil
	})
}

// Parse reads the arguments of the verb.
func (f *Flags) Parse(args []string) error {
	if f.err != nil {
		return f.err
	}
	if err := f.set.Parse(args); err != nil {
		return err
	}
	if f.set.NArg() > 0 {
		return fmt.Errorf("%s: unexpected %q", f.set.Name(), f.set.Arg(0))
	}
	return nil
}
