package program

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheExitCodeSaysWhoseFaultItIs(t *testing.T) {
	verb := func(err error) func(context.Context, []string) error {
		return func(context.Context, []string) error { return err }
	}
	p := Program{Name: "rvol-test", Usage: "", Verbs: map[string]func(context.Context, []string) error{
		"work": verb(nil), "fail": verb(errors.New("disk full")), "misread": verb(Misuse{errors.New("no such flag")}), "tell": verb(Misuse{flag.ErrHelp}),
	}}
	for args, want := range map[string]int{"work": 0, "fail": 1, "misread": 2, "tell": 0, "--help": 0, "version": 0, "dance": 2} {
		if got := p.run(t.Context(), []string{args}); got != want {
			t.Errorf("%s: exit status %d, want %d", args, got, want)
		}
	}
	if got := p.run(t.Context(), nil); got != 0 {
		t.Errorf("no verb: exit status %d", got)
	}
}

func TestAFlagOverridesItsTwin(t *testing.T) {
	environ := []string{"RVOL_TEST_STATE_DIR=/twin", "RVOL_TEST_PEER=a,b"}
	parse := func(args ...string) []string {
		var dir string
		var peers []string
		f := NewFlags("rvol-test", "run", environ, io.Discard)
		f.Text(&dir, "state-dir", "/default", "")
		f.List(&peers, "peer", "")
		if err := f.Parse(args); err != nil {
			t.Error(err)
		}
		return append(peers, dir)
	}
	if diff := cmp.Diff([]string{"a", "b", "/twin"}, parse()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"c", "d", "/flag"}, parse("--peer", "c", "--peer", "d", "--state-dir", "/flag")); diff != "" {
		t.Error(diff)
	}
}

func TestASettingThatIsNoFlagsTwinIsRefused(t *testing.T) {
	parse := func(environ ...string) error {
		var dir string
		f := NewFlags("rvol-test", "run", environ, io.Discard)
		f.Text(&dir, "state-dir", "/default", "")
		f.Strict("RVOL_TEST_SOCKET")
		return f.Parse(nil)
	}
	if err := parse("RVOL_TEST_STATE_DIR=/x", "RVOL_TEST_SOCKET=y", "RVOL_TESTS=z", "PATH=/bin"); err != nil {
		t.Error(err)
	}
	err := parse("RVOL_TEST_STATEDIR=/x", "RVOL_TEST_=")
	if err == nil || !strings.Contains(err.Error(), "unknown setting RVOL_TEST_STATEDIR: there are RVOL_TEST_STATE_DIR") || !strings.Contains(err.Error(), "RVOL_TEST_:") {
		t.Errorf("got %v", err)
	}
}
