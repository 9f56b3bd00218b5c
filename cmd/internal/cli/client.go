package cli

import (
	"context"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

const (
	callTimeout = 30 * time.Second // of one call, unless --timeout says something else
	election    = 15 * time.Second // how long calls are repeated while coordinators answer that they have no leader: two rounds of votes, on a slow machine
	again       = 500 * time.Millisecond
	maxAnswer   = 256 << 20 // bytes of one answer
	staleHeader = "rvol-stale"
)

// client asks the endpoints in turn until one answers.
type client struct {
	app *app

	mu        sync.Mutex
	requestID string
	endpoints []string
	dial      func(context.Context, string) (grpc.ClientConnInterface, error) // nil: not connected yet
	conns     map[string]grpc.ClientConnInterface
	first     int    // index of the endpoint that answered last
	warned    string // the last warning
	stale     string // why the last answer of a call may be old; empty: it is not
}

// A miss is why one endpoint did not answer.
type miss struct {
	endpoint, why string
	there         bool // it is there, but cannot do it now
}

// Invoke makes one call. Repeating it elsewhere is safe, because what changes something carries a request id.
func (c *client) Invoke(ctx context.Context, method string, in, out any, opts ...grpc.CallOption) error {
	order, err := c.order()
	if err != nil {
		return err
	}
	ctx = c.withRequestID(ctx, method)
	if c.app.flags.timeout == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	until := time.NewTimer(election)
	defer until.Stop()
	var before []miss
	for {
		misses, err := c.round(ctx, order, func(conn grpc.ClientConnInterface, more ...grpc.CallOption) error {
			return conn.Invoke(ctx, method, in, out, append(opts, more...)...)
		})
		switch {
		case misses == nil && before != nil && status.Code(err) == codes.DeadlineExceeded:
			return c.unavailable(method, before) // says more than that the time is over
		case misses == nil && c.comeAgain(ctx, err):
			continue
		case misses == nil:
			return err
		}
		before = misses
		if !anyThere(misses) || !c.pause(ctx, until.C) {
			return c.unavailable(method, misses)
		}
	}
}

// comeAgain waits as long as a coordinator asks for that has too much to do. It reports false
// when it did not ask, or nothing of the time would be left for the call.
func (c *client) comeAgain(ctx context.Context, err error) bool {
	after := refusalOf(status.Convert(err)).GetRetryAfter().AsDuration()
	if deadline, ok := ctx.Deadline(); after <= 0 || ok && time.Until(deadline) <= after {
		return false
	}
	sleep(ctx, after)
	return ctx.Err() == nil
}

// NewStream opens a stream on the first endpoint that lets it begin.
func (c *client) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	order, err := c.order()
	if err != nil {
		return nil, err
	}
	var stream grpc.ClientStream
	misses, err := c.round(ctx, order, func(conn grpc.ClientConnInterface, _ ...grpc.CallOption) (err error) {
		stream, err = conn.NewStream(ctx, desc, method, append(opts, grpc.MaxCallRecvMsgSize(maxAnswer))...)
		return err
	})
	if misses != nil {
		return nil, c.unavailable(method, misses)
	}
	return stream, err
}

// round tries each endpoint once. Misses are nil when one of them gave an answer, which err is. An answer that may be old counts when
// nobody knows better: a coordinator that is cut off from the others has one too.
func (c *client) round(ctx context.Context, order []string, try func(grpc.ClientConnInterface, ...grpc.CallOption) error) ([]miss, error) {
	var misses []miss
	var old func()
	for _, endpoint := range order {
		conn, err := c.conn(ctx, endpoint)
		if err != nil {
			misses = append(misses, miss{endpoint: endpoint, why: err.Error()})
			continue
		}
		var head metadata.MD
		var from peer.Peer
		err = try(conn, grpc.Header(&head), grpc.Peer(&from), grpc.MaxCallRecvMsgSize(maxAnswer))
		if err == nil && len(head.Get(staleHeader)) > 0 && !c.app.flags.stale {
			old = func() { c.answered(ctx, endpoint, head) }
			continue
		}
		if status.Code(err) != codes.Unavailable {
			c.answered(ctx, endpoint, head)
			return nil, err
		}
		misses = append(misses, miss{endpoint: endpoint, why: why(err), there: from.Addr != nil})
	}
	if old != nil {
		old()
		return nil, nil
	}
	return misses, nil
}

// order lists the endpoints, beginning with the one that answered last.
func (c *client) order() ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.connect()
	return slices.Concat(c.endpoints[c.first:], c.endpoints[:c.first]), err
}

func (c *client) answered(ctx context.Context, endpoint string, head metadata.MD) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first = slices.Index(c.endpoints, endpoint)
	if head == nil {
		return // a stream, whose head comes later
	}
	c.stale = strings.Join(head.Get(staleHeader), "; ")
	if ctx.Value(quiet{}) == nil {
		c.warnStale(head)
	}
}

// quiet marks calls for whose answers nobody asked: they warn of nothing.
type quiet struct{}

func quietly(ctx context.Context) context.Context { return context.WithValue(ctx, quiet{}, true) }

// fresh says whether the last call was answered by the leader's state.
func (c *client) fresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stale == ""
}

func (c *client) conn(ctx context.Context, endpoint string) (grpc.ClientConnInterface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn, ok := c.conns[endpoint]; ok {
		return conn, nil
	}
	conn, err := c.dial(ctx, endpoint)
	if err == nil {
		c.conns[endpoint] = conn
	}
	return conn, err
}

func (c *client) close() {
	for _, conn := range c.conns {
		if closer, ok := conn.(io.Closer); ok {
			_ = closer.Close() // the command is over
		}
	}
}

func (c *client) pause(ctx context.Context, until <-chan time.Time) bool {
	t := time.NewTimer(again)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-until:
		return false
	case <-ctx.Done():
		return false
	}
}

// turn names the request anew, when a command makes the same call again on purpose.
func (c *client) turn(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	base, _, _ := strings.Cut(c.requestID, "#")
	c.requestID = base + "#" + strconv.Itoa(n)
}

func (c *client) withRequestID(ctx context.Context, method string) context.Context {
	if !changes(method) {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "rvol-request-id", c.requestID)
}

// changes says whether a call of that method changes something.
func changes(method string) bool {
	switch path.Base(method) {
	case "List", "Status", "Watch", "Changes", "SaveSnapshot", "Check", "Bundle":
		return false
	}
	return true
}

func (c *client) warnStale(head metadata.MD) {
	if c.stale == "" {
		return
	}
	text := "stale: " + c.stale
	if index := head.Get("rvol-index"); len(index) > 0 {
		text += "; as of index " + index[0]
	}
	if text != c.warned { // a watch repeats itself
		c.app.tell("%s\n", text)
		c.warned = text
	}
}

func anyThere(misses []miss) bool {
	for _, m := range misses {
		if m.there {
			return true
		}
	}
	return false
}

// why shortens what gRPC says of a connection that could not be made.
func why(err error) string {
	text := status.Convert(err).Message()
	for _, noise := range []string{"connection error: desc = ", "transport: ", "Error while dialing: "} {
		text = strings.TrimPrefix(strings.Trim(text, `"`), noise)
	}
	return strings.Trim(strings.ReplaceAll(text, `\"`, `"`), `"`)
}

func (c *client) unavailable(method string, misses []miss) error {
	f := &failure{code: exitUnavailable, what: "no coordinator can answer"}
	for i, m := range misses {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		f.what += sep + m.endpoint + ": " + m.why
	}
	f.next = "Check that a majority of the coordinators runs: `rvol cluster status --stale`."
	if !anyThere(misses) {
		f.next = "Check that rvol-coordinator runs there, or name others with --endpoint."
	} else if changes(method) {
		f.next += " The request may have been carried out: repeat it with --request-id " + c.requestID + "."
	}
	return f
}
