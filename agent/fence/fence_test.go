package fence_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rvol/agent/decide"
	"rvol/agent/fence"
	"rvol/drbd"
)

// kernel is what an Arbiter sees of the machine, and coordinators that answer.
type kernel struct {
	mu      sync.Mutex
	role    drbd.Role
	frozen  bool
	known   bool
	resumed []int64
	answer  *fence.Answer // nil: nobody answers
	arbiter *fence.Arbiter
}

func newKernel(role drbd.Role, answer *fence.Answer) *kernel {
	k := &kernel{role: role, answer: answer, known: true}
	k.arbiter = fence.New(fence.Config{
		Log: slog.New(slog.DiscardHandler),
		Resource: func(string) (decide.Resource, drbd.Resource, bool) {
			k.mu.Lock()
			defer k.mu.Unlock()
			return decide.Resource{Volume: "db-1", DRBD: "8.4", Member: true, Peers: []decide.Peer{{}}}, drbd.Resource{Role: k.role}, k.known
		},
		Frozen: func() []string {
			k.mu.Lock()
			defer k.mu.Unlock()
			if k.frozen {
				return []string{"rvol-db-1"}
			}
			return nil
		},
		Asked: k.asked,
		Resume: func(_ context.Context, _ string, round int64) error {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.frozen, k.resumed = false, append(k.resumed, round)
			return nil
		},
	})
	return k
}

// asked answers every open question.
func (k *kernel) asked() {
	k.mu.Lock()
	answer := k.answer
	k.mu.Unlock()
	if answer == nil {
		return
	}
	for _, q := range k.arbiter.Questions() {
		n := *answer
		n.Number = q.Number
		k.arbiter.Answered(n)
	}
}

func TestWhatTheHandlerExitsWith(t *testing.T) {
	granted := &fence.Answer{Granted: true, Holder: "n1", Round: 1}
	lost := &fence.Answer{Holder: "n2", Reason: "replica 1 goes on alone"}
	refused := &fence.Answer{Reason: "node n2 may still use it"}
	for _, c := range []struct {
		says   string
		role   drbd.Role
		answer *fence.Answer
		known  bool
		want   int
	}{
		{"a Primary is granted", drbd.Primary, granted, true, 4},
		{"a Secondary is granted", drbd.Secondary, granted, true, 4},
		{"a Secondary, and the other side holds it", drbd.Secondary, lost, true, 6},
		{"a Primary that lost", drbd.Primary, lost, true, 1},
		{"a Secondary is refused, and nobody holds it", drbd.Secondary, refused, true, 1},
		{"a Primary is refused, and nobody holds it", drbd.Primary, refused, true, 1},
		{"a Primary, and nobody answers", drbd.Primary, nil, true, 1},
		{"a Secondary, and nobody answers", drbd.Secondary, nil, true, 1},
		{"a role that is not known, and the other side holds it", drbd.RoleUnknown, lost, true, 1},
		{"a resource that is not known", drbd.Primary, granted, false, 1},
	} {
		t.Run(c.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKernel(c.role, c.answer)
				k.known = c.known
				if got := k.arbiter.Handle(t.Context(), "rvol-db-1"); got != c.want {
					t.Errorf("exit code %d, want %d", got, c.want)
				}
				if open := k.arbiter.Questions(); len(open) > 0 {
					t.Errorf("still asked: %v", open)
				}
			})
		})
	}
}

func TestALateAnswerIsToNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernel(drbd.Primary, nil)
		first := make(chan []fence.Question, 1)
		go func() {
			time.Sleep(time.Second)
			first <- k.arbiter.Questions()
		}()
		if code := k.arbiter.Handle(t.Context(), "rvol-db-1"); code != fence.Refused {
			t.Fatalf("exit code %d without an answer", code)
		}
		go func() {
			time.Sleep(time.Second)
			k.arbiter.Answered(fence.Answer{Number: (<-first)[0].Number, Granted: true})
		}()
		if code := k.arbiter.Handle(t.Context(), "rvol-db-1"); code != fence.Refused {
			t.Errorf("exit code %d on the answer to an older question", code)
		}
	})
}

func TestFrozenIOIsAskedForUntilItIsGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernel(drbd.Primary, nil)
		k.frozen = true
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.arbiter.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(k.resumed) > 0 || !strings.Contains(k.arbiter.Why("rvol-db-1"), "no coordinator has answered") {
			t.Fatalf("resumed %v without an answer; why: %s", k.resumed, k.arbiter.Why("rvol-db-1"))
		}
		k.mu.Lock()
		k.answer = &fence.Answer{Reason: "replica 1 goes on alone", Holder: "n2"}
		k.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(k.resumed) > 0 || k.arbiter.Why("rvol-db-1") != "replica 1 goes on alone" {
			t.Fatalf("resumed %v though refused; why: %s", k.resumed, k.arbiter.Why("rvol-db-1"))
		}
		k.mu.Lock()
		k.answer = &fence.Answer{Granted: true, Round: 7}
		k.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(k.resumed) != 1 || k.resumed[0] != 7 {
			t.Errorf("resumed in rounds %v, want 7", k.resumed)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestTheHandlerAsksByTheSocket(t *testing.T) {
	k := newKernel(drbd.Primary, &fence.Answer{Granted: true})
	path := filepath.Join(t.TempDir(), "fence.sock")
	if code, err := fence.Call(t.Context(), path, "rvol-db-1"); code != fence.Refused || err == nil || !strings.Contains(err.Error(), "rvol-agent.service") {
		t.Errorf("without an agent: %d, %v", code, err)
	}
	l, err := fence.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v: want it for root alone", st.Mode(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.arbiter.Serve(ctx, l) }()
	if code, err := fence.Call(t.Context(), path, "rvol-db-1"); code != fence.Granted || err != nil {
		t.Errorf("granted: %d, %v", code, err)
	}
	if code, err := fence.Call(t.Context(), path, ""); code != fence.Refused || err == nil {
		t.Errorf("without a resource: %d, %v", code, err)
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
