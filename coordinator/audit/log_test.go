package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// chain makes headers of entries from..to, two of each entry.
func chain(from, to uint64, previous state.Hash) []state.Header {
	var all []state.Header
	for index := from; index <= to; index++ {
		for number := range 2 {
			h := state.Header{
				Index: index, Number: number, Of: 2, Time: time.Unix(int64(index), 0).UTC(), Actor: "admin/alice",
				Cause: fmt.Sprintf("change %d", number), Put: []model.Key{{Kind: model.KindNode, Name: "n1"}},
				Revision: index, Previous: previous,
			}
			h.Hash = h.Sum()
			previous = h.Hash
			all = append(all, h)
		}
	}
	return all
}

func open(t *testing.T, dir string, set ...func(*Config)) *Log {
	t.Helper()
	cfg := Config{Dir: dir, Logger: slog.New(slog.DiscardHandler)}
	for _, s := range set {
		s(&cfg)
	}
	l, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// appendAll appends headers entry by entry.
func appendAll(l *Log, all []state.Header) {
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Index == all[0].Index {
			n++
		}
		l.Append(all[:n])
		all = all[n:]
	}
}

// reads returns the places of what Read gives: "3.0 3.1".
func reads(t *testing.T, l *Log, from uint64, limit int) string {
	t.Helper()
	all, err := l.Read(from, limit)
	if err != nil {
		return err.Error()
	}
	var places []string
	for _, h := range all {
		if h.Sum() != h.Hash {
			t.Errorf("header %d.%d is not what was appended", h.Index, h.Number)
		}
		places = append(places, fmt.Sprintf("%d.%d", h.Index, h.Number))
	}
	return strings.Join(places, " ")
}

func verified(t *testing.T, dir string) Report {
	t.Helper()
	r, err := Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReadGivesWholeEntriesFromAnIndexOn(t *testing.T) {
	small := func(c *Config) { c.SegmentBytes = 700 } // a few headers
	for name, l := range map[string]*Log{"one segment": open(t, t.TempDir()), "many segments": open(t, t.TempDir(), small)} {
		t.Run(name, func(t *testing.T) {
			if got := reads(t, l, 0, 10); got != "" {
				t.Errorf("an empty trail has %s", got)
			}
			appendAll(l, chain(3, 9, state.Hash{}))
			got := []string{reads(t, l, 0, 3), reads(t, l, 1, 4), reads(t, l, 7, 1), reads(t, l, 8, 99), reads(t, l, 10, 9)}
			want := []string{"3.0 3.1 4.0 4.1", "3.0 3.1 4.0 4.1", "7.0 7.1", "8.0 8.1 9.0 9.1", ""}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATrailGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	all := chain(1, 4, state.Hash{})
	appendAll(open(t, dir), all[:5])
	l := open(t, dir)
	appendAll(l, all) // Raft replays from the last snapshot
	if got := reads(t, l, 2, 99); got != "2.0 2.1 3.0 3.1 4.0 4.1" {
		t.Errorf("after a restart: %s", got)
	}
	want := Report{Headers: 8, First: 1, Last: 4, Chain: all[7].Hash}
	if diff := cmp.Diff(want, verified(t, dir)); diff != "" {
		t.Errorf("verify (-want +got):\n%s", diff)
	}
}

func TestHalfALineIsCutOff(t *testing.T) {
	all := chain(1, 3, state.Hash{})
	line, _, err := encode(all[3:4])
	if err != nil {
		t.Fatal(err)
	}
	for n := range line {
		dir := t.TempDir()
		l := open(t, dir)
		appendAll(l, all[:3])
		f, err := os.OpenFile(l.newest().path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(line[:n]); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		if r := verified(t, dir); r.Headers != 3 {
			t.Fatalf("cut after %d bytes: %+v", n, r)
		}
		l = open(t, dir)
		if got := reads(t, l, 1, 99); got != "1.0 1.1" || l.Last() != 1 {
			t.Fatalf("cut after %d bytes there is half an entry: %s", n, got)
		}
		appendAll(l, all)
		if got := reads(t, l, 1, 99); got != "1.0 1.1 2.0 2.1 3.0 3.1" {
			t.Fatalf("cut after %d bytes: %s", n, got)
		}
	}
}

func TestWhatIsNotHereIsSaidToBeCompacted(t *testing.T) {
	compacted := func(from, begins int) string {
		return fmt.Sprintf("read audit trail from index %d: compacted: it begins at %d", from, begins)
	}
	t.Run("after a snapshot from the leader", func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, dir)
		first := chain(1, 3, state.Hash{})
		appendAll(l, first)
		later := chain(7, 9, state.Hash{1})
		appendAll(l, later[1:]) // never half an entry
		for range 2 {           // and once more after a restart
			got := []string{reads(t, l, 3, 99), reads(t, l, 7, 99), reads(t, l, 8, 99)}
			want := []string{compacted(3, 8), compacted(7, 8), "8.0 8.1 9.0 9.1"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			l = open(t, dir)
		}
		want := Report{Headers: 10, First: 1, Last: 9, Chain: later[5].Hash, Gaps: []uint64{8}}
		if diff := cmp.Diff(want, verified(t, dir)); diff != "" {
			t.Errorf("verify (-want +got):\n%s", diff)
		}
	})
	t.Run("after the oldest files went", func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, dir, func(c *Config) { c.SegmentBytes, c.KeepBytes = 1000, 4000 })
		appendAll(l, chain(1, 100, state.Hash{}))
		_, err := l.Read(1, 1)
		if !errors.Is(err, model.ErrCompacted) {
			t.Errorf("read from 1: %v", err)
		}
		if got := reads(t, l, 100, 9); got != "100.0 100.1" {
			t.Errorf("read from 100: %s", got)
		}
		var size int64
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		for _, f := range files {
			info, statErr := os.Stat(f)
			err = errors.Join(err, statErr)
			size += info.Size()
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", f, info.Mode())
			}
		}
		if err != nil || size > 5000 || len(files) < 3 {
			t.Errorf("%d files of %d bytes are kept, %v", len(files), size, err)
		}
		if r := verified(t, dir); r.First == 1 || r.Last != 100 || len(r.Gaps) > 0 {
			t.Errorf("verify %+v", r)
		}
	})
}

func TestAnAlteredTrailIsFound(t *testing.T) {
	all := chain(1, 6, state.Hash{})
	damage := map[string]func([][]byte) [][]byte{
		"a word changed":   func(l [][]byte) [][]byte { l[3] = bytes.Replace(l[3], []byte("alice"), []byte("mal1c"), 1); return l },
		"a line removed":   func(l [][]byte) [][]byte { return append(l[:3:3], l[4:]...) },
		"two lines turned": func(l [][]byte) [][]byte { l[3], l[4] = l[4], l[3]; return l },
		"not JSON":         func(l [][]byte) [][]byte { l[3] = []byte("{\n"); return l },
	}
	for name, alter := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := open(t, dir)
			appendAll(l, all[:8])
			path := l.newest().path
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(b, []byte{'\n'})
			if err := os.WriteFile(path, bytes.Join(alter(lines), nil), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Verify(dir); err == nil {
				t.Error("it was not found")
			}
			l = open(t, dir)
			appendAll(l, all) // the coordinator goes on
			if got := reads(t, l, 5, 99); got != "5.0 5.1 6.0 6.1" {
				t.Errorf("the trail goes on with %s", got)
			}
			if _, err := l.Read(1, 1); !errors.Is(err, model.ErrCompacted) {
				t.Errorf("read what was altered: %v", err)
			}
		})
	}
}

func TestAFailedWriteLeavesAGap(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	all := chain(1, 6, state.Hash{})
	appendAll(l, all[:4])
	if err := l.file.Close(); err != nil { // every write fails from now on
		t.Fatal(err)
	}
	appendAll(l, all[4:])
	if got := reads(t, l, 4, 99); got != "4.0 4.1 5.0 5.1 6.0 6.1" {
		t.Errorf("after a failed write: %s", got)
	}
	if _, err := l.Read(2, 1); !errors.Is(err, model.ErrCompacted) {
		t.Errorf("read over the gap: %v", err)
	}
	if diff := cmp.Diff([]uint64{4}, verified(t, dir).Gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

func TestWaitReturnsWhenThereIsMore(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := open(t, dir)
		all := chain(1, 2, state.Hash{})
		l.Append(all[:2])
		if err := l.Wait(t.Context(), 0); err != nil {
			t.Error(err)
		}
		done := make(chan error, 1)
		go func() { done <- l.Wait(t.Context(), 1) }()
		l.Append(all[:2])
		synctest.Wait()
		if len(done) > 0 {
			t.Error("it returned before entry 2")
		}
		l.Append(all[2:])
		if err := <-done; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Wait(ctx, 9); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait for what does not come: %v", err)
		}
	})
}
