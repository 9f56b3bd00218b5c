package serve

import (
	"context"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/proto/identity"
)

// inside is the way into the server from its own process, for doors that speak something else than gRPC: they are
// clients like the others, in the name of somebody whom they let in. It carries calls that only look.
type inside struct {
	grpc  *grpc.Server
	pipes *pipes
}

// insideKey marks the context of a call that came by it.
type insideKey struct{}

func newInside(s *Server) *inside {
	mark := func(ctx context.Context) context.Context { return context.WithValue(ctx, insideKey{}, true) }
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			return s.unary(mark(ctx), req, info, next)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return s.stream(srv, &callStream{stream, mark(stream.Context())}, info, next)
		}),
	)
	for _, register := range s.Services {
		register(server)
	}
	return &inside{grpc: server, pipes: &pipes{waiting: make(chan net.Conn), closed: make(chan struct{})}}
}

// run answers until the returned function is called, which waits.
func (i *inside) run() (stop func()) {
	var running sync.WaitGroup
	running.Go(func() { _ = i.grpc.Serve(i.pipes) }) // it ends when it is stopped
	return func() { i.grpc.Stop(); running.Wait() }
}

// Inside connects to the server from within its process. Calls carry on behalf of whom they are: see As.
func (s *Server) Inside() (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///inside",
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithContextDialer(s.inside.pipes.dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20)))
}

// As makes calls by conn, which Inside made, those of somebody who was let in by another door.
func As(conn grpc.ClientConnInterface, id identity.ID, key identity.Fingerprint) grpc.ClientConnInterface {
	return onBehalfOf{conn, door.Caller{ID: id, Key: key}}
}

type onBehalfOf struct {
	grpc.ClientConnInterface
	caller door.Caller
}

func (c onBehalfOf) Invoke(ctx context.Context, method string, in, out any, opts ...grpc.CallOption) error {
	return c.ClientConnInterface.Invoke(outgoing(ctx, c.caller), method, in, out, opts...)
}

func (c onBehalfOf) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.ClientConnInterface.NewStream(outgoing(ctx, c.caller), d, method, opts...)
}

// guest says in whose name a call from inside is. They may look, whatever their role is.
func (s *Server) guest(md metadata.MD, method string) (c door.Caller, err error) {
	if len(md.Get(headerCaller)) == 0 {
		return c, fmt.Errorf("%w: a call from inside in nobody's name", model.ErrForbidden)
	}
	if c.ID, c.Key, err = onBehalf(md); err != nil {
		return c, err
	}
	if r, ok := rules[method]; !ok || r.who != viewers {
		return c, fmt.Errorf("%w: %s only looks, and %s does more", model.ErrForbidden, c.Actor(), method)
	}
	return c, s.known(c.Key, c.ID)
}

// pipes is a listener in memory.
type pipes struct {
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (p *pipes) dial(ctx context.Context, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.waiting <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the next connection.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr is nowhere.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "inside", Net: "pipe"} }
