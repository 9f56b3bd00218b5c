package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adminv1 "rvol/proto/admin/v1"
)

// watchFor10s runs a command for ten seconds of fake time while db-2 becomes ready.
func watchFor10s(t *testing.T, terminal bool, args ...string) *session {
	t.Helper()
	s := newSession(t)
	s.env.IsTerminal = func(any) bool { return terminal }
	s.env.Getenv = func(name string) string { return map[string]string{"NO_COLOR": "1"}[name] }
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	time.AfterFunc(1500*time.Millisecond, func() { s.fake.edit(func(*world) {}) })
	time.AfterFunc(2500*time.Millisecond, func() {
		s.fake.edit(func(w *world) { w.volumes[1].State, w.volumes[1].CopiesUpToDate = "ready", 2 })
	})
	if code := s.run(ctx, args...); code != 0 {
		t.Errorf("exit status %d, want 0: a watch ends when its watcher has seen enough: %s", code, s.err)
	}
	return s
}

const (
	watchHead  = "NAME  STATE    SIZE    CLASS  COPIES  ON     SYNC    USED ON\n"
	watchFirst = "db-1  ready    10 GiB  r2     2/2     n1,n2  -       n1\n" +
		"db-2  syncing  10 GiB  r2     1/2     n2,n3  42.5 %  -\n"
)

func TestWatchPrintsWhatIsNewElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watchFor10s(t, false, "volume", "list", "--watch", "-o", "name")
		if diff := cmp.Diff("volume/db-1\nvolume/db-2\n", s.out.String()); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	})
}

func TestWatchDrawsThePageAnewOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watchFor10s(t, true, "volume", "list", "--watch")
		const page = "\x1b[H\x1b[2J"
		want := page + watchHead + watchFirst + page +
			"NAME  STATE  SIZE    CLASS  COPIES  ON     SYNC    USED ON\n" +
			"db-1  ready  10 GiB  r2     2/2     n1,n2  -       n1\n" +
			"db-2  ready  10 GiB  r2     2/2     n2,n3  42.5 %  -\n"
		if diff := cmp.Diff(want, s.out.String()); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	})
}

func TestEventsAreWatchedWithoutGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		all := [][2]int{{10, 0}, {10, 1}, {11, 0}, {11, 1}, {12, 0}} // index, number within the entry
		var since [][2]int
		s.fake.streams["/rvol.admin.v1.Events/Watch"] = func(stream grpc.ServerStream) error {
			q := new(adminv1.ListEventsRequest)
			if err := stream.RecvMsg(q); err != nil {
				return err
			}
			from := [2]int{int(q.GetSince()), int(q.GetSinceNumber())}
			since = append(since, from)
			sent := 0
			for _, at := range all {
				if sent == 3 || slices.Compare(at[:], from[:]) < 0 {
					continue
				}
				sent++
				if err := stream.SendMsg(&adminv1.Event{Index: uint64(at[0]), Number: int32(at[1]), Actor: "admin/anna", Cause: "test"}); err != nil {
					return err
				}
			}
			if sent == 0 {
				return status.Error(codes.OutOfRange, "compacted")
			}
			return status.Error(codes.Unavailable, "shutting down") // in the middle of entry 11
		}
		if code := s.run(t.Context(), "event", "watch", "--since", "10", "-o", "json"); code != 1 {
			t.Errorf("exit status %d, want 1", code)
		}
		if diff := cmp.Diff([][2]int{{10, 0}, {11, 1}, {12, 1}}, since); diff != "" {
			t.Errorf("streams began with (-want +got):\n%s", diff)
		}
		var got [][2]int
		for line := range strings.Lines(s.out.String()) {
			var e struct{ Index, Number int }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			got = append(got, [2]int{e.Index, e.Number})
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if want := "rvol: events since 12: compacted. Older ones are no longer kept: begin later with --since.\n"; !strings.HasSuffix(s.err.String(), want) {
			t.Errorf("message %q, want %q", s.err, want)
		}
	})
}

func TestSnapshotIsPrivateAndReplacesNothing(t *testing.T) {
	s := newSession(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "state.snap")
	if code := s.run(t.Context(), "cluster", "snapshot", "save", file); code != 0 {
		t.Fatalf("exit status %d: %s", code, s.err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file %v, %v, want mode 0600", info, err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "state and keys" {
		t.Errorf("content %q, %v", got, err)
	}
	if code := s.run(t.Context(), "cluster", "snapshot", "save", file); code != 2 {
		t.Errorf("second time: exit status %d, want 2", code)
	}
	s.fake.refuse["/rvol.admin.v1.Cluster/SaveSnapshot"] = status.Error(codes.Internal, "torn")
	if code := s.run(t.Context(), "cluster", "snapshot", "save", filepath.Join(dir, "other")); code != 1 {
		t.Errorf("broken stream: exit status %d, want 1", code)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
