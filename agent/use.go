package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rvol/agent/act"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// A Use is of one volume on this machine: what `rvol-agent attach` and `detach`
// ask for with the node's own certificate, which is good for its node alone.
type Use struct {
	State        string
	Volume       string
	Coordinators []string      // besides those known
	Timeout      time.Duration // 0: wait for as long as it takes
	Dial         NetDialer     // nil: TCP
	Log          *slog.Logger
}

// Attach waits until the volume can be used here, and returns its device.
func (u Use) Attach(ctx context.Context) (device string, err error) {
	err = u.until(ctx, "attach", func(ctx context.Context, c agentv1.AgentsClient) (bool, string, error) {
		r, err := c.Attach(ctx, &agentv1.AttachRequest{Volume: u.Volume})
		device = r.GetDevice()
		return r.GetReady(), r.GetMessage(), err
	})
	return device, err
}

// Detach waits until the volume is not in use here any more.
func (u Use) Detach(ctx context.Context) error {
	return u.until(ctx, "detach", func(ctx context.Context, c agentv1.AgentsClient) (bool, string, error) {
		r, err := c.Detach(ctx, &agentv1.DetachRequest{Volume: u.Volume})
		return r.GetGone(), r.GetMessage(), err
	})
}

// A question is asked until the answer is that it is done; why is what it waits for.
type question func(ctx context.Context, c agentv1.AgentsClient) (done bool, why string, err error)

const (
	useTimeout = 10 * time.Second // of one call
	usePause   = time.Second
)

// final are the refusals that no waiting cures. What is busy, electing or not
// reached is asked again: at boot all of it is to be expected.
var final = []codes.Code{codes.NotFound, codes.PermissionDenied, codes.InvalidArgument, codes.Unimplemented}

func (u Use) until(ctx context.Context, what string, ask question) error {
	ctx, cancel := u.bounded(ctx)
	defer cancel()
	source, coordinators, err := u.credentials()
	if err != nil {
		return err
	}
	for last := ""; ; {
		done, why, err := u.anyone(ctx, source, coordinators, ask)
		switch {
		case ctx.Err() != nil && !done:
			why = last // the call was cut off
		case err != nil && slices.Contains(final, status.Code(err)):
			return fmt.Errorf("%s %s: %s", what, u.Volume, status.Convert(err).Message())
		case err != nil:
			why = status.Convert(err).Message()
		case done:
			return nil
		}
		if why != last {
			u.Log.InfoContext(ctx, "waiting", "volume", u.Volume, "reason", why)
			last = why
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s: %w: %s", what, u.Volume, context.Cause(ctx), why)
		case <-time.After(usePause):
		}
	}
}

func (u Use) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if u.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, u.Timeout, fmt.Errorf("gave up after %v", u.Timeout))
}

// anyone asks the coordinators in turn until one has an answer.
func (u Use) anyone(ctx context.Context, source *identity.Source, coordinators []string, ask question) (done bool, why string, err error) {
	dial := DialWith(source, u.Dial, nil)
	for _, addr := range coordinators {
		done, why, err = u.one(ctx, addr, dial, ask)
		if c := status.Code(err); err == nil || c != codes.Unavailable && c != codes.DeadlineExceeded {
			return done, why, err
		}
	}
	return done, why, err
}

func (u Use) one(ctx context.Context, addr string, dial func(context.Context, string) (grpc.ClientConnInterface, error), ask question) (done bool, why string, err error) {
	conn, err := dial(ctx, addr)
	if err != nil {
		return false, "", err
	}
	if c, ok := conn.(interface{ Close() error }); ok {
		defer func() { _ = c.Close() }() // the answer is here, or will not come
	}
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	return ask(ctx, agentv1.NewAgentsClient(conn))
}

// credentials reads who this node is, and where the coordinators are.
func (u *Use) credentials() (*identity.Source, []string, error) {
	place, err := LoadPlace(u.State)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, identity.ErrNoCredentials
	}
	if err != nil {
		return nil, nil, err
	}
	own, err := IdentityDir(u.State).Load()
	if err != nil {
		return nil, nil, err
	}
	journal, err := act.OpenJournal(u.State, nil) // reads only
	if err != nil {
		return nil, nil, err
	}
	order, _ := journal.Order()
	if u.Dial == nil {
		u.Dial = TCP
	}
	all := slices.Concat(u.Coordinators, order.Coordinators, place.Coordinators)
	slices.Sort(all)
	return identity.NewSource(own), slices.Compact(all), nil
}
