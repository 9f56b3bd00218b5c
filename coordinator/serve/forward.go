package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/proto/identity"
)

// A coordinator that hands a call on says in these for whom; they are believed only of
// coordinators.
const (
	headerCaller    = "rvol-caller" // the ID, or stranger
	headerCallerKey = "rvol-caller-key"
	stranger        = "stranger"
)

// call is one call to hand on.
type call struct {
	method string
	req    any
	caller door.Caller
	many   bool // the client sends more than one message
}

// forwarder hands calls on to the leader. It keeps one connection.
type forwarder struct {
	cfg Config

	mu     sync.Mutex
	to     string // name and address
	conn   *grpc.ClientConn
	former sync.WaitGroup // connections that are being closed
}

func newForwarder(c Config) *forwarder { return &forwarder{cfg: c} }

func (f *forwarder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave()
	f.former.Wait()
}

// leave closes the connection beside everything else: its last words may stall for seconds
// on a link that is cut, and nobody who calls another leader shall wait for that. It is
// called with the lock held.
func (f *forwarder) leave() {
	if conn := f.conn; conn != nil {
		f.former.Go(func() { _ = conn.Close() }) // calls through it end with Unavailable, as they should
		f.conn, f.to = nil, ""
	}
}

// connect returns a connection to the leader, which must show that it is it.
func (f *forwarder) connect(l door.Leadership) (*grpc.ClientConn, error) {
	to := l.Leader + " at " + l.Addr
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conn != nil && f.to == to {
		return f.conn, nil
	}
	conn, err := grpc.NewClient("passthrough:///"+l.Addr,
		grpc.WithTransportCredentials(credentials.NewTLS(f.toLeader(l.Leader))),
		grpc.WithContextDialer(f.cfg.Dial),
		grpc.WithNoProxy(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, MaxDelay: time.Second}, MinConnectTimeout: 2 * time.Second}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20)),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", to, err)
	}
	f.leave()
	f.conn, f.to = conn, to
	return conn, nil
}

// toLeader is for connections to the member called name, and to no other.
func (f *forwarder) toLeader(name string) *tls.Config {
	config := f.cfg.Out.Clone()
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if err := f.cfg.Out.VerifyConnection(state); err != nil {
			return err
		}
		peer, err := identity.PeerOf(state)
		if err == nil && peer.ID.Name != name {
			err = fmt.Errorf("%w: it is %s, want coordinator %s", identity.ErrNotAllowed, peer.ID, name)
		}
		return err
	}
	return config
}

// unary hands a call on and its answer back.
func (f *forwarder) unary(ctx context.Context, l door.Leadership, c call) (any, error) {
	conn, err := f.connect(l)
	if err != nil {
		return nil, err
	}
	_, out, err := messages(c.method)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(outgoing(ctx, c.caller))
	defer cancel(nil)
	defer onClosed(ctx, l.Changed, func() { cancel(model.ErrUnknown) })()
	var header metadata.MD
	if err := conn.Invoke(ctx, c.method, c.req, out, grpc.Header(&header)); err != nil {
		return nil, f.explain(ctx, l, err)
	}
	return out, grpc.SetHeader(ctx, ours(header))
}

// stream hands a call on whose answers are many.
func (f *forwarder) stream(down grpc.ServerStream, l door.Leadership, c call) error {
	conn, err := f.connect(l)
	if err != nil {
		return err
	}
	in, _, err := messages(c.method)
	if err != nil {
		return err
	}
	if err := down.RecvMsg(in); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(outgoing(down.Context(), c.caller))
	defer cancel(nil)
	defer onClosed(ctx, l.Changed, func() { cancel(&model.NotLeaderError{}) })()
	up, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: c.many}, c.method)
	if err == nil {
		err = up.SendMsg(in)
	}
	if err == nil {
		err = c.rest(down, up)
	}
	if err != nil {
		return f.explain(ctx, l, err)
	}
	header, err := up.Header()
	if err == nil {
		err = down.SendHeader(ours(header))
	}
	for err == nil {
		_, out, _ := messages(c.method)
		if err = up.RecvMsg(out); err == nil {
			err = down.SendMsg(out)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return f.explain(ctx, l, err)
}

// rest hands on what the client sends after its first message, if it may.
func (c call) rest(down grpc.ServerStream, up grpc.ClientStream) error {
	if !c.many {
		return up.CloseSend()
	}
	go pump(down, up, c.method)
	return nil
}

// pump hands on what else the client sends. It ends at the latest with the handler of the
// client's stream.
func pump(down grpc.ServerStream, up grpc.ClientStream, method string) {
	for {
		in, _, err := messages(method)
		if err == nil {
			err = down.RecvMsg(in)
		}
		if errors.Is(err, io.EOF) {
			_ = up.CloseSend() // the answer tells whether it went well
			return
		}
		if err != nil || up.SendMsg(in) != nil {
			return // the answer says why
		}
	}
}

// explain says of a call that could not be handed on which leader did not answer.
func (f *forwarder) explain(ctx context.Context, l door.Leadership, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, model.ErrUnknown) || errors.Is(cause, model.ErrUnavailable) {
		return fmt.Errorf("%w: the leader %s went while the call was under way", cause, l.Leader)
	}
	s := status.Convert(err)
	if s.Code() == codes.Unavailable && len(s.Details()) == 0 {
		return fmt.Errorf("%w: the leader %s at %s does not answer: %s", model.ErrUnavailable, l.Leader, l.Addr, s.Message())
	}
	return err
}

// outgoing is the context of a call on behalf of c.
func outgoing(ctx context.Context, c door.Caller) context.Context {
	id, key := stranger, ""
	if !c.Stranger() {
		id, key = c.ID.String(), c.Key.String()
	}
	pairs := []string{headerCaller, id, headerCallerKey, key}
	if c.RequestID != "" {
		pairs = append(pairs, door.HeaderRequestID, c.RequestID)
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// onBehalf reads what outgoing wrote.
func onBehalf(md metadata.MD) (id identity.ID, key identity.Fingerprint, err error) {
	text, keyText := md.Get(headerCaller)[0], ""
	if text == stranger {
		return id, key, nil
	}
	if k := md.Get(headerCallerKey); len(k) > 0 {
		keyText = k[0]
	}
	if id, err = identity.ParseID(text); err == nil {
		key, err = identity.ParseFingerprint(keyText)
	}
	if err != nil {
		return id, key, fmt.Errorf("%w: a call on behalf of %q: %w", model.ErrForbidden, text, err)
	}
	return id, key, nil
}

// ours picks our headers.
func ours(h metadata.MD) metadata.MD {
	out := metadata.MD{}
	for _, k := range []string{door.HeaderIndex, door.HeaderStale} {
		if v := h.Get(k); len(v) > 0 {
			out.Set(k, v...)
		}
	}
	return out
}

// messages makes an empty request and an empty answer of a method.
func messages(method string) (in, out proto.Message, err error) {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, nil, fmt.Errorf("hand on %s: %w", method, err)
	}
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, nil, fmt.Errorf("hand on %s: it is no method", method)
	}
	made := func(name protoreflect.FullName) proto.Message {
		if err != nil {
			return nil
		}
		var t protoreflect.MessageType
		if t, err = protoregistry.GlobalTypes.FindMessageByName(name); err != nil {
			return nil
		}
		return t.New().Interface()
	}
	in, out = made(m.Input().FullName()), made(m.Output().FullName())
	return in, out, err
}
