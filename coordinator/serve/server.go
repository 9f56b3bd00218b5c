package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/limit"
	"rvol/coordinator/state"
	"rvol/proto/identity"
)

// Cluster is what the doors ask of consensus.
type Cluster interface {
	Leadership() door.Leadership

	// Read returns once the memory of this coordinator, which leads, holds everything
	// that was acknowledged before the call.
	Read(ctx context.Context) error
}

// Config is what a server is made of.
type Config struct {
	In       *tls.Config                                   // for clients, who may also be strangers
	Out      *tls.Config                                   // to hand calls on to the leader
	Known    func(identity.Fingerprint, identity.ID) error // asked again at every call
	Clock    func() time.Time                              // by which certificates are in their time; nil: time.Now
	Cluster  Cluster
	Store    *state.Store
	Dial     func(ctx context.Context, addr string) (net.Conn, error) // to the leader
	Log      *slog.Logger
	Services []func(grpc.ServiceRegistrar)
	Limits   limit.Config // how much clients may ask at a time

	// Called is told of each call, its code, and, of one with one answer, how long it took;
	// nil: nobody asks.
	Called func(method string, code codes.Code, took time.Duration)
}

// Limits of what a client may do to a server.
const (
	maxRequest    = 32 << 20 // bytes: a full report of a large node
	maxStreams    = 1024     // of one connection
	handshakeTime = 10 * time.Second
	pingAfter     = 10 * time.Second // of silence
	pingTimeout   = 5 * time.Second
	minPing       = 5 * time.Second // clients that ping more often are cut off
	graceToEnd    = 2 * time.Second // for calls under way when the server stops
)

// Server answers calls.
type Server struct {
	Config
	grpc    *grpc.Server
	forward *forwarder
	inside  *inside
	limits  *limit.Limiter
}

// New makes a server of its services.
func New(c Config) *Server {
	if c.Called == nil {
		c.Called = func(string, codes.Code, time.Duration) {}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	s := &Server{Config: c, forward: newForwarder(c), limits: limit.New(c.Limits)}
	s.grpc = grpc.NewServer(
		grpc.Creds(credentials.NewTLS(c.In)),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)
	for _, register := range c.Services {
		register(s.grpc)
	}
	s.inside = newInside(s)
	return s
}

// Serve answers calls on the listener, which it closes, until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ended := make(chan error, 1)
	go func() { ended <- s.grpc.Serve(l) }()
	defer s.forward.close()
	defer s.inside.run()()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the API on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	hard := time.AfterFunc(graceToEnd, s.grpc.Stop)
	defer hard.Stop()
	s.grpc.GracefulStop()
	if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve the API on %s: %w", l.Addr(), err)
	}
	return nil
}

// patience is how long a call waits for an election to end.
const patience = 3 * time.Second

// way is how a call is carried out.
type way struct {
	leader door.Leadership // carried out under, or forwarded to
	away   bool            // by the leader, which is another
	stale  string          // why the answer may be old; empty: it is not
}

// route says how a call is carried out: here, by the leader, or here and labelled.
func (s *Server) route(ctx context.Context, r rule, stale, forwarded bool) (way, error) {
	if r.where == here {
		return way{leader: s.Cluster.Leadership()}, nil
	}
	if stale && r.where == anywhere {
		return way{stale: "asked for what this coordinator remembers"}, nil
	}
	w, err := s.untilLed(ctx, r)
	switch {
	case err == nil && w.away && forwarded:
		return way{}, &model.NotLeaderError{Leader: w.leader.Addr}
	case errors.Is(err, model.ErrUnavailable) && r.where == anywhere && !forwarded:
		return way{stale: fmt.Sprintf("no leader since %s", w.leader.Since.UTC().Format(time.RFC3339))}, nil
	}
	return w, err
}

// untilLed finds the leader for a call, and waits for an election to end.
func (s *Server) untilLed(ctx context.Context, r rule) (way, error) {
	waiting := time.NewTimer(patience)
	defer waiting.Stop()
	for {
		l := s.Cluster.Leadership()
		w, err := s.lead(ctx, r, l)
		if err == nil || !errors.Is(err, model.ErrUnavailable) {
			return w, err
		}
		select {
		case <-l.Changed:
		case <-ctx.Done():
			return w, ctx.Err()
		case <-waiting.C:
			return w, err
		}
	}
}

// lead says how a call that needs the leader is carried out under the leadership l.
func (s *Server) lead(ctx context.Context, r rule, l door.Leadership) (way, error) {
	switch {
	case l.Leading && r.where == leader:
		return way{leader: l}, nil
	case l.Leading:
		return way{leader: l}, s.Cluster.Read(ctx)
	case l.Addr != "":
		return way{leader: l, away: true}, nil
	default:
		return way{leader: l}, &model.NotLeaderError{}
	}
}
