package agent_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rvol/agent"
	agentv1 "rvol/proto/agent/v1"
)

// clerk gives prepared answers to one node, the last of them for ever.
type clerk struct {
	*registrar
	attach  []any // *agentv1.AttachResponse or error
	detach  []any
	volumes []string
}

func next[T any](answers *[]any) (none T, err error) {
	a := (*answers)[0]
	if len(*answers) > 1 {
		*answers = (*answers)[1:]
	}
	if err, is := a.(error); is {
		return none, err
	}
	return a.(T), nil
}

func (c *clerk) Attach(_ context.Context, r *agentv1.AttachRequest) (*agentv1.AttachResponse, error) {
	c.volumes = append(c.volumes, r.GetVolume())
	return next[*agentv1.AttachResponse](&c.attach)
}

func (c *clerk) Detach(_ context.Context, r *agentv1.DetachRequest) (*agentv1.DetachResponse, error) {
	c.volumes = append(c.volumes, r.GetVolume())
	return next[*agentv1.DetachResponse](&c.detach)
}

// joined is a node of a cluster, in whose name the volume db-1 is used.
func joined(t *testing.T, c *clerk) (u agent.Use, log *bytes.Buffer) {
	t.Helper()
	c.registrar, log = &registrar{}, &bytes.Buffer{}
	dial := serveAs(t, c.registrar, c)
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := agent.Join(t.Context(), c.config(dir, dial)); err != nil {
		t.Fatal(err)
	}
	return agent.Use{State: dir, Volume: "db-1", Dial: dial, Log: slog.New(slog.NewTextHandler(log, nil))}, log
}

func TestAttachWaitsAndSaysForWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clerk{attach: []any{
			status.Error(codes.Unavailable, "no leader"), status.Error(codes.Unavailable, "no leader"), status.Error(codes.Unavailable, "no leader"),
			status.Error(codes.FailedPrecondition, "node n1: it is not Ready"),
			&agentv1.AttachResponse{Message: "node n1 is to become Primary"},
			&agentv1.AttachResponse{Ready: true, Device: "/dev/rvol/db-1"},
		}}
		u, log := joined(t, c)
		device, err := u.Attach(t.Context())
		if err != nil || device != "/dev/rvol/db-1" || strings.Join(c.volumes, "") == "" || c.volumes[0] != "db-1" {
			t.Errorf("got %q, %v, asked for %q", device, err, c.volumes)
		}
		for _, why := range []string{"no leader", "not Ready", "become Primary"} {
			if n := strings.Count(log.String(), why); n != 1 {
				t.Errorf("%q was said %d times:\n%s", why, n, log)
			}
		}
	})
}

func TestAttachEndsWhereNoWaitingHelps(t *testing.T) {
	for code, says := range map[codes.Code]string{
		codes.NotFound:         "attach db-1: volume db-1: not found",
		codes.PermissionDenied: "attach db-1: volume db-1: in use on node n2",
	} {
		synctest.Test(t, func(t *testing.T) {
			u, _ := joined(t, &clerk{attach: []any{status.Error(code, strings.TrimPrefix(says, "attach db-1: "))}})
			if _, err := u.Attach(t.Context()); err == nil || err.Error() != says {
				t.Errorf("got %v, want %q", err, says)
			}
		})
	}
}

func TestDetachGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, _ := joined(t, &clerk{detach: []any{&agentv1.DetachResponse{Message: "mounted on /srv"}}})
		u.Timeout = 30 * time.Second
		begun := time.Now()
		err := u.Detach(t.Context())
		if err == nil || err.Error() != "detach db-1: gave up after 30s: mounted on /srv" || time.Since(begun) != u.Timeout {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		u, _ := joined(t, &clerk{detach: []any{&agentv1.DetachResponse{}, &agentv1.DetachResponse{Gone: true}}})
		if err := u.Detach(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAMachineThatHasNotJoinedUsesNothing(t *testing.T) {
	u := agent.Use{State: t.TempDir(), Volume: "db-1", Log: slog.New(slog.DiscardHandler)}
	if _, err := u.Attach(t.Context()); err == nil || !strings.Contains(err.Error(), "join") {
		t.Errorf("got %v", err)
	}
}
