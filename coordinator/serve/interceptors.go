package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// maxRequestID bounds what clients may have remembered for them.
const maxRequestID = 128

// unary is around every call with one answer.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (out any, err error) {
	began := time.Now()
	defer func() {
		err = s.finish(ctx, info.FullMethod, recover(), err)
		s.Called(info.FullMethod, status.Code(err), time.Since(began))
	}()
	c, forwarded, err := s.caller(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	r, err := authorize(info.FullMethod, c)
	if err != nil {
		return nil, err
	}
	if c.RequestID != "" {
		if c.RequestHash, err = contentOf(info.FullMethod, req); err != nil {
			return nil, err
		}
	}
	asked, _ := req.(interface{ GetStale() bool })
	w, err := s.route(ctx, r, asked != nil && asked.GetStale(), forwarded)
	if err != nil {
		return nil, err
	}
	if w.away {
		return s.forward.unary(ctx, w.leader, call{method: info.FullMethod, req: req, caller: c})
	}
	defer func() { err = errors.Join(err, grpc.SetHeader(ctx, s.label(w))) }()
	if r.who.limited() {
		leave, err := s.limits.Enter(ctx, c.Actor())
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	return handler(door.With(ctx, c), req)
}

// stream is around every call with many answers.
func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	ctx := stream.Context()
	defer func() {
		err = s.finish(ctx, info.FullMethod, recover(), err)
		s.Called(info.FullMethod, status.Code(err), 0)
	}()
	c, forwarded, err := s.caller(ctx, info.FullMethod)
	if err != nil {
		return err
	}
	r, err := authorize(info.FullMethod, c)
	if err != nil {
		return err
	}
	w, err := s.route(ctx, r, false, forwarded)
	if err != nil {
		return err
	}
	if w.away {
		return s.forward.stream(stream, w.leader, call{method: info.FullMethod, caller: c, many: info.IsClientStream})
	}
	if err := stream.SetHeader(s.label(w)); err != nil {
		return err
	}
	if r.who.limited() {
		closed, err := s.limits.Open(c.Actor())
		if err != nil {
			return err
		}
		defer closed()
	}
	ctx, cancel := context.WithCancelCause(door.With(ctx, c))
	defer cancel(nil)
	if w.leader.Leading && r.where != here {
		stop := onClosed(ctx, w.leader.Changed, func() { cancel(&model.NotLeaderError{}) })
		defer stop()
	}
	err = handler(srv, &heldStream{callStream{stream, ctx}, func() error { return s.still(c) }})
	if lost := context.Cause(ctx); errors.As(lost, new(*model.NotLeaderError)) {
		return lost
	}
	return err
}

// onClosed calls fn when c is closed before ctx ends. stop waits until it no longer can.
func onClosed(ctx context.Context, c <-chan struct{}, fn func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-c:
			fn()
		case <-ctx.Done():
		}
	}()
	return func() { cancel(); <-done }
}

// still says whether a caller may go on: who is revoked may not, however long ago the call began.
func (s *Server) still(c door.Caller) error {
	if c.Stranger() {
		return nil
	}
	return s.known(c.Key, c.ID)
}

// callStream is a stream whose context names the caller.
type callStream struct {
	grpc.ServerStream
	ctx context.Context // it replaces the one that the stream contains
}

// heldStream ends when its caller may not go on.
type heldStream struct {
	callStream
	still func() error // why not
}

// SendMsg sends to those who may still hear it.
func (s *heldStream) SendMsg(m any) error {
	if err := s.still(); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

// RecvMsg takes from those who may still speak.
func (s *heldStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return s.still()
}

// Context is the context of the call.
func (s *callStream) Context() context.Context { return s.ctx }

// label is the header of an answer.
func (s *Server) label(w way) metadata.MD {
	h := metadata.Pairs(door.HeaderIndex, strconv.FormatUint(s.Store.Index(), 10))
	if w.stale != "" {
		h.Set(door.HeaderStale, w.stale)
	}
	return h
}

// finish turns what a service ended with into the client's answer.
func (s *Server) finish(ctx context.Context, method string, panic any, err error) error {
	if panic != nil {
		err = panicked(panic, debug.Stack())
	}
	told, known := answer(err)
	if !known {
		s.Log.ErrorContext(ctx, "call failed", "cause", method, "err", err)
	}
	return told
}

// caller says who makes a call, and whether another coordinator hands it on.
func (s *Server) caller(ctx context.Context, method string) (c door.Caller, forwarded bool, err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if id := md.Get(door.HeaderRequestID); len(id) > 0 {
		c.RequestID = id[0]
	}
	if len(c.RequestID) > maxRequestID {
		return c, false, fmt.Errorf("%w: the request id has %d characters, at most %d are kept", model.ErrInvalid, len(c.RequestID), maxRequestID)
	}
	if ctx.Value(insideKey{}) != nil {
		c, err = s.guest(md, method)
		return c, false, err
	}
	p, err := s.peer(ctx, method)
	if errors.Is(err, identity.ErrNoCertificate) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	c.ID, c.Key, c.Until = p.ID, p.Key, p.Cert.NotAfter
	if p.ID.Role == identity.Server && len(md.Get(headerCaller)) > 0 {
		c.Until = time.Time{}
		if c.ID, c.Key, err = onBehalf(md); err == nil && !c.Stranger() {
			err = s.known(c.Key, c.ID)
		}
		return c, true, err
	}
	return c, false, nil
}

// peer is the other end of the connection of a call. Connections outlive certificates
// and revocations: both are looked at again.
func (s *Server) peer(ctx context.Context, method string) (identity.Peer, error) {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return identity.Peer{}, identity.ErrNoCertificate
	}
	info, ok := from.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return identity.Peer{}, identity.ErrNoCertificate
	}
	p, err := identity.PeerOf(info.State)
	if err != nil {
		return identity.Peer{}, err
	}
	if err := s.known(p.Key, p.ID); err != nil {
		return identity.Peer{}, err
	}
	// Between coordinators, and to renew, a certificate out of its time will do.
	if p.ID.Role != identity.Server && method != agentv1.Agents_Renew_FullMethodName {
		if err := p.CheckTime(s.Clock()); err != nil {
			return identity.Peer{}, err
		}
	}
	return p, nil
}

func (s *Server) known(key identity.Fingerprint, id identity.ID) error {
	if err := s.Known(key, id); err != nil {
		return fmt.Errorf("%w: %s: %w", model.ErrForbidden, id, err)
	}
	return nil
}

// contentOf is a hash of what a client asked, so that a request id used for something
// else is found out.
func contentOf(method string, req any) (string, error) {
	m, ok := req.(proto.Message)
	if !ok {
		return "", fmt.Errorf("hash a request of %s: it is no message", method)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("hash a request of %s: %w", method, err)
	}
	sum := sha256.Sum256(append([]byte(method+"\n"), b...))
	return hex.EncodeToString(sum[:]), nil
}
