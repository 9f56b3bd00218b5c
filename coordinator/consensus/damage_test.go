package consensus

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// remembered is all that a member must not forget, read from its directory.
func remembered(t *testing.T, dir string) (lines []string, err error) {
	t.Helper()
	g := &guard{onFatal: func(error) {}}
	s, err := openStores(Config{Dir: dir, Logger: quiet()}, g)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	first, err := s.Log.FirstIndex()
	if err != nil {
		return nil, err
	}
	last, err := s.Log.LastIndex()
	if err != nil {
		return nil, err
	}
	for i := first; i <= last; i++ {
		var l raft.Log
		if err := s.Log.GetLog(i, &l); err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprint(l.Index, l.Term, l.Type, string(l.Data), string(l.Extensions)))
	}
	term, err := s.Stable.GetUint64([]byte("CurrentTerm"))
	if err != nil {
		return nil, err
	}
	vote, err := s.Stable.Get([]byte("LastVoteCand"))
	return append(lines, fmt.Sprint(term, string(vote))), err
}

// written makes a directory with a log of some entries, and returns every term and vote
// that stood there once.
func written(t *testing.T) (dir string, once map[string]bool) {
	t.Helper()
	dir, once = t.TempDir(), map[string]bool{}
	s, err := openStores(Config{Dir: dir, Logger: quiet()}, &guard{onFatal: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(12) {
		l := &raft.Log{Index: i + 1, Term: i/4 + 1, Type: raft.LogCommand, Data: fmt.Appendf(nil, "entry %d %s", i, strings.Repeat("x", 300))}
		if err := s.Log.StoreLog(l); err != nil {
			t.Fatal(err)
		}
		if err := s.Stable.SetUint64([]byte("CurrentTerm"), l.Term); err != nil {
			t.Fatal(err)
		}
		if err := s.Stable.Set([]byte("LastVoteCand"), fmt.Appendf(nil, "n%d", i)); err != nil {
			t.Fatal(err)
		}
		once[fmt.Sprintf("%dn%d", l.Term, i)], once[fmt.Sprintf("%dn%d", i/4+1, max(i, 1)-1)] = true, true
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	return dir, once
}

// TestAFlippedBitNeverAltersAnEntry flips bits all over the file. Either the member
// refuses to start, or what it remembers is what was once written.
func TestAFlippedBitNeverAltersAnEntry(t *testing.T) {
	dir, once := written(t)
	path := filepath.Join(dir, logFile)
	want, err := remembered(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(good, "\x00"))
	refused, harmless := 0, 0
	for i := 0; i < used; i += 37 {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := remembered(t, dir)
		if err != nil {
			refused++
			continue
		}
		entries, vote := got[:len(got)-1], got[len(got)-1]
		if diff := cmp.Diff(want[:len(entries)], entries); diff != "" || !once[vote] {
			t.Fatalf("with byte %d altered the vote is %s, the log (-want +got):\n%s", i, vote, diff)
		}
		harmless++
	}
	if refused < 20 || harmless < 20 {
		t.Errorf("%d refused, %d harmless: too few to show anything", refused, harmless)
	}
}

func TestAMissingPartIsFound(t *testing.T) {
	entry := func(i, term uint64) *raft.Log { return seal(&raft.Log{Index: i, Term: term, Data: []byte("x")}) }
	withTerm := func(term uint64) *raft.InmemStore {
		s := raft.NewInmemStore()
		if err := (&guardedStable{store: s, guard: &guard{}}).SetUint64([]byte("CurrentTerm"), term); err != nil {
			t.Fatal(err)
		}
		return s
	}
	tests := []struct {
		name    string
		logs    []*raft.Log
		term    uint64
		covered uint64 // last entry in the newest snapshot
		want    string
	}{
		{name: "nothing is missing", logs: []*raft.Log{entry(1, 1), entry(2, 2)}, term: 2},
		{name: "a snapshot stands in", logs: []*raft.Log{entry(1, 1), entry(8, 2)}, term: 2, covered: 7},
		{name: "an entry", logs: []*raft.Log{entry(1, 1), entry(3, 2)}, term: 2, want: "entry 2: log not found"},
		{name: "an entry behind the snapshot", logs: []*raft.Log{entry(1, 1), entry(8, 2)}, term: 2, covered: 6, want: "entry 7: log not found"},
		{name: "the beginning", logs: []*raft.Log{entry(5, 1)}, term: 1, covered: 3, want: "it begins at entry 5, the newest snapshot ends at 3"},
		{name: "the term", logs: []*raft.Log{entry(1, 3)}, term: 2, want: "its last entry is of term 3, the term it remembers is 2"},
		{name: "a checksum", logs: []*raft.Log{{Index: 1}}, term: 2, want: "entry 1: its checksum is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &Stores{Log: raft.NewInmemStore(), Stable: withTerm(tt.term), Snapshots: raft.NewInmemSnapshotStore()}
			if err := s.Log.StoreLogs(tt.logs); err != nil {
				t.Fatal(err)
			}
			if tt.covered > 0 {
				sink, err := s.Snapshots.Create(1, tt.covered, 1, raft.Configuration{}, 1, nil)
				if err != nil || sink.Close() != nil {
					t.Fatal(err)
				}
			}
			err := checkStores(s)
			if (err == nil) != (tt.want == "") || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestADirectoryBelongsToOneProcess(t *testing.T) {
	dir := t.TempDir()
	s, err := openDir(Config{Dir: dir, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	_, err = openDir(Config{Dir: dir, Logger: quiet()})
	if err == nil || !strings.Contains(err.Error(), "is a coordinator running already?") {
		t.Errorf("opened twice: %v", err)
	}
}
