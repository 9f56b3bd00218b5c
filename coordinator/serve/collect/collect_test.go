package collect_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/serve/collect"
	agentv1 "rvol/proto/agent/v1"
)

type parts = []*agentv1.CollectedPart

// play asks n1 of an agent that answers with these parts, and then leaves, if it is told to.
func play(t *testing.T, answer parts, leaves bool) (files []collect.File, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := collect.NewBroker()
		s := b.Join("n1")
		go func() {
			r := <-s.Requests
			for _, p := range answer {
				if p.GetNumber() == 0 {
					p.Number = r.GetNumber()
				}
				s.Take(p)
			}
			if leaves {
				s.Close()
			}
		}()
		begun := time.Now()
		files, err = b.Collect(t.Context(), collect.Ask{Node: "n1", Time: 20 * time.Second, Bytes: 100})
		took = time.Since(begun)
	})
	return files, took, err
}

func TestPartsBecomeFiles(t *testing.T) {
	files, _, err := play(t, parts{
		{File: "a", Data: []byte("1")},
		{File: "a", Data: []byte("2"), FileEnd: true},
		{Number: 77, File: "of another"},
		{File: "b", FileEnd: true, Missing: "why"},
		{End: true},
		{File: "late", FileEnd: true},
	}, false)
	want := []collect.File{{Name: "a", Data: []byte("12")}, {Name: "b", Missing: "why"}}
	if diff := cmp.Diff(want, files); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestWhatCameIsKeptWhenTheRestDoesNot(t *testing.T) {
	for name, tt := range map[string]struct {
		answer parts
		leaves bool
		err    error
		took   time.Duration
	}{
		"silent":         {parts{{File: "a", FileEnd: true}, {File: "b", Data: []byte("half")}}, false, collect.ErrSilent, 30 * time.Second},
		"gone":           {parts{{File: "a", FileEnd: true}, {File: "b", Data: []byte("half")}}, true, collect.ErrGone, 0},
		"sends too much": {parts{{File: "a", FileEnd: true}, {File: "b", Data: make([]byte, 101)}}, false, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			files, took, err := play(t, tt.answer, tt.leaves)
			if !errors.Is(err, tt.err) || took != tt.took {
				t.Errorf("%v after %s, want %v after %s", err, took, tt.err, tt.took)
			}
			if len(files) != 2 || files[0].Missing != "" || files[1].Name != "b" || files[1].Missing == "" {
				t.Errorf("got %+v", files)
			}
		})
	}
}

func TestWhoIsNotConnectedIsNotWaitedFor(t *testing.T) {
	b := collect.NewBroker()
	old := b.Join("n1")
	newer := b.Join("n1")
	old.Close() // must not take the newer session away
	newer.Close()
	if _, err := b.Collect(t.Context(), collect.Ask{Node: "n1"}); !errors.Is(err, collect.ErrNoSession) {
		t.Errorf("got %v", err)
	}
	s := b.Join("n1")
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Collect(ctx, collect.Ask{Node: "n1", Time: time.Minute}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
