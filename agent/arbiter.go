package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"rvol/agent/decide"
	"rvol/agent/fence"
	"rvol/drbd"
)

func (a *agent) newArbiter() *fence.Arbiter {
	return fence.New(fence.Config{
		Log:      a.Log,
		Resource: func(name string) (decide.Resource, drbd.Resource, bool) { return a.engine.Resource(name) },
		Frozen:   func() []string { return a.engine.Frozen() },
		Asked:    func() { a.session.Changed() },
		Resume: func(ctx context.Context, resource string, round int64) error {
			return a.engine.Resume(ctx, resource, round)
		},
	})
}

// answerHandlers listens for the handler that the kernel runs.
func (a *agent) answerHandlers(ctx context.Context) error {
	if a.Fence != nil {
		a.Fence(a.arbiter.Handle)
		<-ctx.Done()
		return nil
	}
	l, err := fence.Listen(ctx, filepath.Join(a.Root, fence.Socket))
	if err != nil {
		return err
	}
	return a.arbiter.Serve(ctx, l)
}

// askTime is how long a promotion waits for the coordinators.
const askTime = 10 * time.Second

func (a *agent) mayServeAlone(ctx context.Context, resource string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	n, err := a.arbiter.Ask(ctx, resource)
	if err != nil {
		return err
	}
	if !n.Granted {
		return fmt.Errorf("%s may not become Primary without its other copy: %s", resource, n.Reason)
	}
	return nil
}

// frozenCondition names the resources whose I/O waits for the coordinators.
func (a *agent) frozenCondition() decide.Condition {
	const kind = "IOFlows"
	var list []string
	for _, name := range a.engine.Frozen() {
		list = append(list, name+" ("+a.arbiter.Why(name)+")")
	}
	if len(list) == 0 {
		return good(kind)
	}
	return bad(kind, "SuspendedFencing", "I/O is frozen because the other copy is lost, until a majority of the coordinators lets this one go on: "+strings.Join(list, ", "))
}

// FencePeer is the program `rvol-agent fence-peer`, which DRBD runs with the
// resource in its environment: the exit code, and why it is not better.
func FencePeer(ctx context.Context, env func(string) string) (int, error) {
	path := env("RVOL_AGENT_FENCE_SOCKET")
	if path == "" {
		path = filepath.Join("/", fence.Socket)
	}
	return fence.Call(ctx, path, env("DRBD_RESOURCE"))
}
