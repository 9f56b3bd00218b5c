package arch

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"rvol/agent"
	"rvol/coordinator"
)

// manuals are the programs whose manual is written by hand: verb by verb what --help says.
var manuals = []struct {
	program, unit string
	verbs         map[string]func(out *bytes.Buffer) error
}{
	{"rvol-agent", "agent", map[string]func(*bytes.Buffer) error{
		"join": func(out *bytes.Buffer) error { _, err := agent.ParseJoin(help, unset, out); return err },
		"run":  func(out *bytes.Buffer) error { _, err := agent.ParseRun(help, unset, out); return err },
	}},
	{"rvol-coordinator", "coordinator", map[string]func(*bytes.Buffer) error{
		"init":       func(out *bytes.Buffer) error { _, err := coordinator.ParseInit(help, unset, out); return err },
		"join":       func(out *bytes.Buffer) error { _, err := coordinator.ParseJoin(help, unset, out); return err },
		"run":        func(out *bytes.Buffer) error { _, err := coordinator.ParseRun(help, unset, out); return err },
		"admin-cert": func(out *bytes.Buffer) error { _, err := coordinator.ParseAdminCert(help, unset, out); return err },
	}},
}

var help = []string{"--help"}

func unset(string) string { return "" }

func TestTheManualTellsOfEveryFlag(t *testing.T) {
	t.Parallel()
	for _, m := range manuals {
		page := strings.ReplaceAll(text(t, "man/"+m.program+".8"), `\-`, "-")
		for verb, ask := range m.verbs {
			_, section, found := strings.Cut(page, "\n.SS "+m.program+" "+verb+"\n")
			if !found {
				t.Errorf("the manual of %s does not tell of %s", m.program, verb)
			}
			section, _, _ = strings.Cut(section, "\n.S")
			for name := range flags(t, ask) {
				if !strings.Contains(section, `\fB--`+name+`\fR`) {
					t.Errorf("the manual of %s %s does not tell of --%s", m.program, verb, name)
				}
			}
		}
	}
}

func TestTheUnitsEnvironmentShowsEveryDefault(t *testing.T) {
	t.Parallel()
	for _, m := range manuals {
		file := text(t, "conf/"+m.unit+".env")
		prefix := strings.ToUpper(strings.ReplaceAll(m.program, "-", "_")) + "_"
		for name, def := range flags(t, m.verbs["run"]) {
			if strings.HasPrefix(name, "lab") {
				continue // nothing for a real machine
			}
			line := "\n#" + prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "=" + def + "\n"
			if !strings.Contains(file, line) {
				t.Errorf("conf/%s.env lacks %q", m.unit, strings.TrimSpace(line))
			}
		}
	}
}

var flagRE = regexp.MustCompile(`(?m)^  -(\S+)( \w+)?\n(.*)$`)

// flags are the flags of a verb with their defaults, as its --help tells them.
func flags(t *testing.T, ask func(*bytes.Buffer) error) map[string]string {
	t.Helper()
	var out bytes.Buffer
	if err := ask(&out); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range flagRE.FindAllStringSubmatch(out.String(), -1) {
		_, def, _ := strings.Cut(m[3], " (default ")
		def = strings.Trim(strings.TrimSuffix(def, ")"), `"`)
		if m[2] == "" {
			def = "false"
		}
		all[m[1]] = def
	}
	if len(all) == 0 {
		t.Fatalf("no flags in %q", out.String())
	}
	return all
}

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile("../../../packaging/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
