package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	adminv1 "rvol/proto/admin/v1"
)

// client calls coordinators, loses their answers, and asks twice.
type client struct {
	r     *run
	names []string
	conns []grpc.ClientConnInterface

	mu    sync.Mutex
	calls int
}

// The faults of a client.
const (
	replyLost   = "answer lost, asked again"
	askedDouble = "asked twice at once"
)

// errUnknown says that nobody gave a definite answer.
var errUnknown = errors.New("no definite answer")

// patience is how long a client asks for a definite answer.
const patience = 3 * time.Minute

func newClient(ctx context.Context, r *run) (*client, error) {
	c := &client{r: r}
	r.counts.expect(faultGroup, replyLost)
	r.counts.expect(faultGroup, askedDouble)
	for i, e := range r.s.Endpoints() {
		conn, err := r.s.Dial(ctx, e)
		if err != nil {
			return nil, err
		}
		c.names, c.conns = append(c.names, fmt.Sprintf("n%d", i+1)), append(c.conns, conn)
	}
	return c, nil
}

func (c *client) close() {
	for _, conn := range c.conns {
		if conn, ok := conn.(*grpc.ClientConn); ok {
			_ = conn.Close() // nobody asks any more
		}
	}
}

// call is one request; same tells two objects that answers are about apart.
type call func(ctx context.Context, conn grpc.ClientConnInterface) (same string, err error)

// change makes a request until the answer is definite, whoever gives it.
func (c *client) change(ctx context.Context, rnd *rand.Rand, do call) error {
	c.mu.Lock()
	c.calls++
	id := fmt.Sprintf("chaos-%d-%d", c.r.Seed, c.calls)
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, "rvol-request-id", id), patience)
	defer cancel()
	if rnd.IntN(6) == 0 {
		return c.twice(ctx, rnd, id, do)
	}
	first, err := c.definite(ctx, rnd, do)
	if err != nil || rnd.IntN(6) > 0 {
		return err
	}
	c.r.counts.add(faultGroup, replyLost, 1)
	again, err := c.definite(ctx, rnd, do)
	c.compare(id, first, again, err)
	return nil
}

// twice asks two coordinators at once, in the same name.
func (c *client) twice(ctx context.Context, rnd *rand.Rand, id string, do call) error {
	var second string
	var secondErr error
	other := rand.New(rand.NewPCG(rnd.Uint64(), 2))
	var wg sync.WaitGroup
	wg.Go(func() { second, secondErr = c.definite(ctx, other, do) })
	first, err := c.definite(ctx, rnd, do)
	wg.Wait()
	c.r.counts.add(faultGroup, askedDouble, 1)
	switch {
	case err != nil && secondErr != nil:
		return secondErr
	case err != nil: // refused before the other was taken
		first, err = c.definite(ctx, rnd, do)
	case secondErr != nil:
		second, secondErr = c.definite(ctx, rnd, do)
	}
	if err != nil {
		c.compare(id, second, first, err)
	} else {
		c.compare(id, first, second, secondErr)
	}
	return nil
}

// compare demands that a repeated request has the answer that was given before.
func (c *client) compare(id, first, again string, err error) {
	switch {
	case errors.Is(err, errUnknown) || errors.Is(err, context.Canceled): // nobody said anything
	case err != nil:
		c.r.wrongf("I3: request %s was acknowledged, and refused when it was repeated: %v", id, err)
	case first != again:
		c.r.wrongf("I3: request %s was about %s, and about %s when it was repeated", id, first, again)
	}
}

// definite asks one coordinator after the other until one says yes or no.
func (c *client) definite(ctx context.Context, rnd *rand.Rand, do call) (string, error) {
	for ctx.Err() == nil {
		once, cancel := context.WithTimeout(ctx, 10*time.Second)
		same, err := do(once, c.conns[rnd.IntN(len(c.conns))])
		cancel()
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		case codes.Unauthenticated: // by a coordinator whose clock is wrong
		case codes.ResourceExhausted: // a volume group that is full is an answer, a coordinator's disk is none
			if !strings.Contains(err.Error(), "no space: the file system") {
				return same, err
			}
		default:
			return same, err
		}
		pause(ctx, time.Second+time.Duration(rnd.Int64N(int64(2*time.Second))))
	}
	return "", errUnknown
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// leader finds who leads, and compares what coordinators remember on the way; nil: nobody
// is known to.
func (c *client) leader(ctx context.Context) grpc.ClientConnInterface {
	var found grpc.ClientConnInterface
	term := uint64(0)
	for i, conn := range c.conns {
		once, cancel := context.WithTimeout(ctx, 2*time.Second)
		st, err := adminv1.NewClusterClient(conn).Status(once, &adminv1.ClusterStatusRequest{Stale: true})
		cancel()
		if err != nil {
			continue
		}
		c.r.truth.remembers(c.names[i], st.GetAppliedIndex(), st.GetStateHash())
		if st.GetLeader() == c.names[i] && st.GetTerm() > term {
			found, term = conn, st.GetTerm()
		}
	}
	return found
}

// fresh makes a call whose answer must not be old.
func fresh(ctx context.Context, do func(ctx context.Context, opts ...grpc.CallOption) error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var head metadata.MD
	if err := do(ctx, grpc.Header(&head)); err != nil {
		return err
	}
	if old := head.Get("rvol-stale"); len(old) > 0 {
		return fmt.Errorf("the answer may be old: %s", strings.Join(old, "; "))
	}
	return nil
}
