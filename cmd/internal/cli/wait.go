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

// stillness is how long nothing may move before waiting for it ends, when --timeout does not say how long to wait: a
// copy of terabytes may take its hours, and what stands still is not worth more of anybody's time.
const stillness = 5 * time.Minute

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

// moved says whether something is different from before.
func (s stage) moved(before stage) bool {
	sync := func(s stage) float64 {
		if s.sync == nil {
			return -1
		}
		return *s.sync
	}
	return s.String() != before.String() || sync(s) != sync(before) || len(s.passed) != len(before.passed)
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

// waiting is how long nothing has come of a wish.
type waiting struct {
	wish
	limited  bool // somebody said how long to wait
	last     stage
	moved    time.Time // when it was last different from before
	homeless time.Time // since when it has no place; zero: it has one
}

// note remembers a stage, and is an error when it is not worth waiting any longer.
func (w *waiting) note(s stage) error {
	now := time.Now()
	if s.moved(w.last) {
		w.moved = now
	}
	w.last = s
	switch {
	case s.noPlace == "":
		w.homeless = time.Time{}
	case w.homeless.IsZero():
		w.homeless = now
	case now.Sub(w.homeless) >= patience:
		return noPlace(w.wish, s)
	}
	if !s.done && !w.limited && now.Sub(w.moved) >= stillness {
		return left(w.wish, exitTimeout, fmt.Sprintf("nothing has moved for %s", short(stillness)), s)
	}
	return nil
}

// wait follows a wish until it is fulfilled, and shows how it goes.
func (a *app) wait(ctx context.Context, wanted wish) error {
	p := a.newProgress()
	defer p.end()
	w := waiting{wish: wanted, limited: a.flags.timeout > 0, moved: time.Now()}
	err := a.follow(ctx, w.kinds, func(ctx context.Context) (bool, error) {
		s, err := w.look(ctx)
		switch {
		case over(ctx) != nil:
			return false, over(ctx)
		case comesBack(err), !a.client.fresh(): // what is old may not be taken for done
			s = stage{phase: w.last.phase, waiting: "waiting for a coordinator that can answer"}
		case err != nil:
			return false, err
		}
		p.show(s)
		return s.done, w.note(s)
	})
	switch why := over(ctx); {
	case why == nil || err == nil:
		return err
	case errors.Is(why, context.DeadlineExceeded):
		return left(w.wish, exitTimeout, fmt.Sprintf("not done after %s", short(a.flags.timeout)), w.last)
	default:
		return left(w.wish, exitFailed, "interrupted", w.last)
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
	c.Flags().BoolVar(wait, "wait", false, "wait until "+until+", and show how it goes; without --timeout until nothing has moved for 5 minutes")
}

func isNotFound(err error) bool {
	f := new(failure)
	if errors.As(err, &f) {
		return f.code == exitNotFound
	}
	return status.Code(err) == codes.NotFound
}
