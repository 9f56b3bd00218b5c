package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
)

// A Handler serves one call. Its context ends when the caller goes away. Opened tells a caller of Dial that the stream is open.
type Handler func(ctx context.Context, r Request, s Streams, opened func() error) Exit

var errCallerGone = errors.New("the caller went away")

// Serve serves the call that comes over c, and closes c.
func Serve(ctx context.Context, c net.Conn, h Handler) error {
	k := newConn(c)
	defer k.Close()
	kind, p, err := k.recv()
	if err != nil {
		return err
	}
	var r Request
	if err := json.Unmarshal(p, &r); kind != kindRequest || err != nil {
		return fmt.Errorf("read a request: not one: %c %w", kind, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in, feeder := io.Pipe()
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		cancel(take(k, feeder))
	}()
	x := h(ctx, r, Streams{Stdin: in, Stdout: frameWriter{k, kindData}, Stderr: frameWriter{k, kindError}},
		func() error { return k.send(kindOpened, nil) })
	in.CloseWithError(io.ErrClosedPipe) // the rest of the input has no reader
	err = k.sendJSON(kindExit, x)
	k.Close()
	<-fed
	return err
}

// take reads what the caller sends until it goes away.
func take(k *conn, in *io.PipeWriter) error {
	for {
		kind, p, err := k.recv()
		if err != nil {
			in.CloseWithError(errCallerGone)
			return errCallerGone
		}
		switch kind {
		case kindData:
			_, _ = in.Write(p) // a command that reads no more input may still go on
		case kindEOF:
			in.Close()
		}
	}
}

// Join copies both ways between c and the caller until both directions have ended.
func Join(c net.Conn, s Streams) error {
	defer c.Close()
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(c, s.Stdin)
		if w, ok := c.(interface{ CloseWrite() error }); ok && err == nil {
			err = w.CloseWrite()
		} else {
			c.Close()
		}
		done <- err
	}()
	_, err := io.Copy(s.Stdout, c)
	return err
}
