package cli_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	"rvol/coordinator/state/statetest"
)

// lines is a trail as export writes it.
type lines []string

func (l *lines) Append(entry []state.Header) {
	for _, h := range entry {
		b, err := json.Marshal(h)
		if err != nil {
			panic(err)
		}
		*l = append(*l, string(b)+"\n")
	}
}

func (*lines) Sync() {}

func trail(t *testing.T) lines {
	t.Helper()
	var l lines
	s := state.NewStore(state.Options{Sink: &l})
	for i := range 4 {
		n := &model.Node{}
		n.Name = fmt.Sprintf("n%d", i)
		txn, err := state.NewTxn("admin/anna", "make "+n.Name).Put(n).Txn()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := statetest.Apply(s, time.Unix(1e9, 0), txn); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func TestAFileOfTheTrailIsVerified(t *testing.T) {
	whole := trail(t)
	altered := slices.Clone(whole)
	altered[1] = strings.Replace(altered[1], "admin/anna", "admin/ben", 1)
	for name, tc := range map[string]struct {
		in   []string
		code int
		says string
	}{
		"whole":            {whole, 0, "- is sound: 4 entries, from index 1 to 4, hash "},
		"its newer half":   {whole[2:], 0, "2 entries, from index 3 to 4"},
		"altered":          {altered, 1, "line 2, the entry of transaction 0 at index 2, was altered"},
		"one is missing":   {slices.Delete(slices.Clone(whole), 1, 2), 1, "line 2, the entry of transaction 0 at index 3, does not follow"},
		"another order":    {[]string{whole[1], whole[0]}, 1, "line 2"},
		"twice":            {[]string{whole[0], whole[0]}, 1, "does not follow"},
		"nothing":          {nil, 1, "no entry in it"},
		"something else":   {[]string{"index 7\n"}, 1, "line 1 is no entry"},
		"half of the last": {[]string{whole[0], whole[1][:40]}, 1, "line 2 is no entry"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			s.env.Stdin = strings.NewReader(strings.Join(tc.in, ""))
			code := s.run(t.Context(), "audit", "verify", "--file", "-")
			if out := s.out.String() + s.err.String(); code != tc.code || !strings.Contains(out, tc.says) {
				t.Errorf("exit status %d, want %d and %q:\n%s", code, tc.code, tc.says, out)
			}
		})
	}
}

func TestATrailThatWasAlteredIsAFailure(t *testing.T) {
	s := newSession(t)
	s.fake.world.cluster.Reconciling = true
	if code := s.run(t.Context(), "audit", "verify"); code != 1 || !strings.Contains(s.err.String(), "at index 7 was altered") {
		t.Errorf("exit status %d: %s", code, s.err)
	}
}
