package program

import (
	"context"
	"errors"
	"flag"
	"io"
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
	env := func(name string) string {
		return map[string]string{"RVOL_TEST_STATE_DIR": "/twin", "RVOL_TEST_PEER": "a,b"}[name]
	}
	parse := func(args ...string) []string {
		var dir string
		var peers []string
		f := NewFlags("rvol-test", "run", env, io.Discard)
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
