package cli_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"rvol/cmd/internal/cli"
)

func TestConfirmationOnATerminal(t *testing.T) {
	for _, tt := range []struct {
		name, typed string
		args        string
		code        int
		asked       bool
	}{
		{"the name is typed", "db-1\n", "volume delete db-1", 0, true},
		{"the name is typed without a newline", "db-1", "volume delete db-1", 0, true},
		{"another name is typed", "db-2\n", "volume delete db-1", 1, false},
		{"nothing is typed", "", "volume delete db-1", 1, false},
		{"yes is typed", "yes\n", "node fence n1", 1, false},
		{"the flag asks nothing", "", "node fence n1 --yes-i-mean n1", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(t)
			s.env.Stdin = strings.NewReader(tt.typed)
			s.env.IsTerminal = func(stream any) bool { return stream == any(s.env.Stdin) }
			if code := s.run(t.Context(), strings.Fields(tt.args)...); code != tt.code {
				t.Errorf("exit status %d, want %d: %s", code, tt.code, s.err)
			}
			if got := s.fake.lastAsked() != ""; got != tt.asked {
				t.Errorf("server was asked: %v, want %v", got, tt.asked)
			}
		})
	}
}

func TestColourIsForTerminals(t *testing.T) {
	for _, tt := range []struct {
		name     string
		terminal bool
		env      map[string]string
		want     bool
	}{
		{"a terminal", true, nil, true},
		{"no terminal", false, nil, false},
		{"NO_COLOR", true, map[string]string{"NO_COLOR": "1"}, false},
		{"a dumb terminal", true, map[string]string{"TERM": "dumb"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(t)
			s.env.IsTerminal = func(any) bool { return tt.terminal }
			s.env.Getenv = func(name string) string { return tt.env[name] }
			s.run(t.Context(), "volume", "list")
			if got := strings.Contains(s.out.String(), "\x1b[32mready\x1b[0m    10 GiB"); got != tt.want {
				t.Errorf("colour %v, want %v:\n%s", got, tt.want, s.out)
			}
		})
	}
}

func TestCompletionOffersLiveNames(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"volume show ", []string{"db-1", "db-2"}},
		{"volume show db-1 ", []string{"db-2"}},
		{"volume attach db-1 ", []string{"n1", "n2", "n3"}},
		{"volume attach db-1 n1 ", nil},
		{"volume create x --class ", []string{"r2"}},
		{"volume create x --attach-to ", []string{"n1", "n2", "n3"}},
		{"lvg create ", []string{"n1", "n2", "n3"}},
		{"lvg create n1 ", nil},
		{"lvg delete ", []string{"n1/vg0"}},
		{"cluster remove ", []string{"c1", "c2", "c3"}},
		{"token create ", []string{"node", "coordinator"}},
		{"volume list -o ", []string{"table", "wide", "json", "yaml", "name"}},
		{"class create x --topology ", []string{"Ignored", "Zonal", "TransZonal"}},
		{"event list --volume ", []string{"db-1", "db-2"}},
		{"completion ", []string{"bash", "fish", "zsh"}},
	} {
		t.Run(tt.args, func(t *testing.T) {
			s := newSession(t)
			words := strings.Split(tt.args, " ")
			if code := s.run(t.Context(), slices.Insert(words, 0, cobra.ShellCompNoDescRequestCmd)...); code != 0 {
				t.Fatalf("exit status %d: %s", code, s.err)
			}
			lines := strings.Split(strings.TrimSpace(s.out.String()), "\n")
			got := lines[:len(lines)-1] // the last one is the directive
			if diff := cmp.Diff(tt.want, got, cmp.Transformer("nil", func(l []string) []string { return slices.Clip(append([]string{}, l...)) })); diff != "" {
				t.Errorf("offers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompletionIsSilentWithoutAServer(t *testing.T) {
	s := newSession(t)
	s.env.Endpoints = []string{"down"}
	if code := s.run(t.Context(), cobra.ShellCompNoDescRequestCmd, "volume", "show", ""); code != 0 || s.out.String() != ":4\n" {
		t.Errorf("exit status %d, output %q", code, s.out)
	}
}

func TestShellsGetTheirCompletion(t *testing.T) {
	for shell, want := range map[string]string{"bash": "# bash completion V2 for rvol", "zsh": "#compdef rvol", "fish": "# fish completion for rvol"} {
		s := newSession(t)
		if code := s.run(t.Context(), "completion", shell); code != 0 || !strings.HasPrefix(s.out.String(), want) {
			t.Errorf("%s: exit status %d, output begins %.40q", shell, code, s.out)
		}
	}
}

// TestEveryCommandExplainsItself also holds that names complete and that help fits the style.
func TestEveryCommandExplainsItself(t *testing.T) {
	var check func(*cobra.Command)
	check = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short help %q: want a phrase without a full stop", c.CommandPath(), c.Short)
		}
		if c.ValidArgsFunction == nil && !strings.HasSuffix(c.Use, " FILE") { // a file's name is for the shell to complete
			t.Errorf("%s: completes nothing", c.CommandPath())
		}
		if c.Args == nil && c.Name() != "list" {
			t.Errorf("%s: does not check its arguments", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	check(cli.New(cli.Env{}))
}

func TestPlanAnswersCases(t *testing.T) {
	const good = `{"name":"one","input":{"topology":"Ignored","ftt":0,"gmdr":0,"nodes":[{"name":"a","disks":1}]}}` + "\n"
	for _, tt := range []struct {
		name, in string
		code     int
		err      string
	}{
		{"all lines can be read", good + good, 0, ""},
		{"a line cannot be read", good + "{\n", 2, "rvol: -: line 2: unexpected end of JSON input. What was answered before that line stands.\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(t)
			s.env.Stdin = strings.NewReader(tt.in)
			if code := s.run(t.Context(), "plan", "class", "--cases", "-"); code != tt.code {
				t.Errorf("exit status %d, want %d", code, tt.code)
			}
			if diff := cmp.Diff(tt.err, s.err.String()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if !strings.HasPrefix(s.out.String(), `{"name":"one","valid":true,`) {
				t.Errorf("output %q", s.out)
			}
		})
	}
}

type full struct{ bytes.Buffer }

func (*full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAFullDiskIsNotTheCasesFault(t *testing.T) {
	s := newSession(t)
	s.env.Stdout = new(full)
	s.env.Stdin = strings.NewReader(`{"name":"one","input":{"topology":"Ignored"}}`)
	if code := s.run(t.Context(), "plan", "class", "--cases", "-"); code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
	if code := s.run(t.Context(), "volume", "list"); code != 1 || !strings.Contains(s.err.String(), "no space left") {
		t.Errorf("exit status %d, message %q", code, s.err)
	}
}
