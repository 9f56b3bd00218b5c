package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// patience is how long something may be without a place before waiting for it ends: space is often about to come free.
const patience = 10 * time.Second

// stage is how far something waited for has come.
type stage struct {
	done    bool
	phase   string   // what is going on: "EstablishConnectivity"
	waiting string   // for what: "waiting for n2 to connect"
	sync    *float64 // percent copied; nil: nothing is being copied
	passed  []passed // phases that are over, in order
	noPlace string   // why there is no place for it
	failed  string   // why it will not be done
}

// passed is a phase that is over.
type passed struct {
	name string
	took time.Duration // 0: not known
}

func (s stage) String() string {
	switch {
	case s.waiting == "":
		return s.phase
	case s.phase == "" || s.phase == s.waiting:
		return s.waiting
	}
	return s.phase + ": " + s.waiting
}

// A wish is what a command waits for.
type wish struct {
	kind, name string
	kinds      []string // whose changes matter
	look       func(context.Context) (stage, error)
}

// wait follows w until it is fulfilled, and shows how it goes.
func (a *app) wait(ctx context.Context, w wish) error {
	p := a.newProgress()
	defer p.end()
	last, homeless := stage{}, time.Time{}
	err := a.follow(ctx, w.kinds, func(ctx context.Context) (bool, error) {
		s, err := w.look(ctx)
		switch {
		case over(ctx) != nil:
			return false, over(ctx)
		case comesBack(err), !a.client.fresh(): // what is old may not be taken for done
			s = stage{phase: last.phase, waiting: "waiting for a coordinator that can answer"}
		case err != nil:
			return false, err
		}
		last = s
		p.show(s)
		switch {
		case s.noPlace == "":
			homeless = time.Time{}
		case homeless.IsZero():
			homeless = time.Now()
		case time.Since(homeless) >= patience:
			return false, noPlace(w, s)
		}
		return s.done, nil
	})
	switch why := over(ctx); {
	case why == nil || err == nil:
		return err
	case errors.Is(why, context.DeadlineExceeded):
		return left(w, exitTimeout, fmt.Sprintf("not done after %s", short(a.flags.timeout)), last)
	default:
		return left(w, exitFailed, "interrupted", last)
	}
}

// over is why ctx has ended. It looks at the clock too: the server's answer that the time is over may be here first.
func over(ctx context.Context) error {
	if end, limited := ctx.Deadline(); limited && ctx.Err() == nil && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// comesBack says that err is about the way to the cluster, not about what was asked.
func comesBack(err error) bool {
	f := new(failure)
	if errors.As(err, &f) {
		return f.code == exitUnavailable
	}
	code := status.Code(err)
	return code == codes.DeadlineExceeded || code == codes.Unavailable
}

// left is the answer of a command that goes while the work goes on.
func left(w wish, code int, why string, last stage) error {
	f := &failure{code: code, what: fmt.Sprintf("%s %s: %s", w.kind, w.name, why)}
	if text := last.String(); text != "" {
		f.what += "; last seen: " + text
	}
	f.next = fmt.Sprintf("The work goes on: see `rvol %s show %s`.", w.kind, w.name)
	return f
}

func noPlace(w wish, s stage) error {
	return &failure{
		code: exitNoSpace,
		what: fmt.Sprintf("%s %s: no place: %s", w.kind, w.name, s.noPlace),
		next: fmt.Sprintf("It is placed as soon as there is room; `rvol %s delete %s` takes it back.", w.kind, w.name),
	}
}

// gone makes the look of a command that waits until an object, by its uid, is no more.
func gone[T named](n noun[T], name, uid string, how func(T) stage) func(context.Context) (stage, error) {
	return func(ctx context.Context) (stage, error) {
		item, ok, err := n.one(ctx, name)
		if err != nil {
			return stage{}, err
		}
		if !ok || uid != "" && item.GetMeta().GetUid() != uid {
			return stage{done: true}, nil
		}
		return how(item), nil
	}
}

// appears makes the look of a command that waits for what becomes of an object that exists.
func appears[T named](n noun[T], name string, how func(T) stage) func(context.Context) (stage, error) {
	return func(ctx context.Context) (stage, error) {
		item, ok, err := n.one(ctx, name)
		if err != nil {
			return stage{}, err
		}
		if !ok {
			return stage{}, &failure{
				code: exitNotFound,
				what: fmt.Sprintf("%s %s: deleted while it was waited for", n.kind, name),
				next: "See `rvol event list`.",
			}
		}
		return how(item), nil
	}
}

func waitFlag(c *cobra.Command, wait *bool, until string) {
	c.Flags().BoolVar(wait, "wait", false, "wait until "+until+", and show how it goes")
}

func isNotFound(err error) bool {
	f := new(failure)
	if errors.As(err, &f) {
		return f.code == exitNotFound
	}
	return status.Code(err) == codes.NotFound
}
