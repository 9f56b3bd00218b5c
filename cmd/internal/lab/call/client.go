package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// Streams are the three streams of a call; those of a client may be nil.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Do makes a call over c and returns how it ended. It closes c. A Stdin that blocks for ever is left behind
// in its Read: nothing can interrupt one.
func Do(ctx context.Context, c net.Conn, r Request, s Streams) (Exit, error) {
	k := newConn(c)
	defer k.Close()
	defer context.AfterFunc(ctx, func() { k.Close() })()
	if err := k.sendJSON(kindRequest, r); err != nil {
		return Exit{}, withCause(ctx, fmt.Errorf("ask for %s: %w", r.Op, err))
	}
	if s.Stdin == nil {
		feed(k, strings.NewReader(""))
	} else {
		go feed(k, s.Stdin)
	}
	x, err := follow(k, s)
	if err != nil {
		return Exit{}, withCause(ctx, fmt.Errorf("wait for the end of %s: %w", r.Op, err))
	}
	return x, nil
}

// feed sends the input. A call may end before it wants any: that is not an error, and a broken connection is seen by the reading side.
func feed(k *conn, in io.Reader) {
	if _, err := io.Copy(frameWriter{k, kindData}, in); err == nil {
		_ = k.send(kindEOF, nil)
	}
}

func follow(k *conn, s Streams) (Exit, error) {
	for {
		kind, p, err := k.recv()
		if err != nil {
			return Exit{}, noEOF(err)
		}
		switch kind {
		case kindData:
			err = write(s.Stdout, p)
		case kindError:
			err = write(s.Stderr, p)
		case kindExit:
			var x Exit
			return x, json.Unmarshal(p, &x)
		}
		if err != nil {
			return Exit{}, err
		}
	}
}

func write(w io.Writer, p []byte) error {
	if w == nil {
		return nil
	}
	_, err := w.Write(p)
	return err
}

// Dial makes a call that opens a stream of bytes, and returns the stream.
func Dial(ctx context.Context, c net.Conn, r Request) (net.Conn, error) {
	k := newConn(c)
	stop := context.AfterFunc(ctx, func() { k.Close() })
	err := k.sendJSON(kindRequest, r)
	if err == nil {
		err = opened(k)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		k.Close()
		return nil, withCause(ctx, err)
	}
	return &stream{conn: k}, nil
}

func opened(k *conn) error {
	kind, p, err := k.recv()
	switch {
	case err != nil:
		return noEOF(err)
	case kind == kindOpened:
		return nil
	}
	var x Exit
	if err := json.Unmarshal(p, &x); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return errors.New(x.Err)
}

// noEOF turns an end in the middle of a call, which is a failure, into an error that io.Copy does not swallow.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func withCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return err
}

// stream is an open call as a connection.
type stream struct {
	*conn
	left int // of the data frame that is being read
	done bool
}

func (s *stream) Read(p []byte) (int, error) {
	for s.left == 0 {
		if s.done {
			return 0, io.EOF
		}
		kind, n, err := s.header()
		if err != nil {
			return 0, err
		}
		switch kind {
		case kindData:
			s.left = n
		default: // kindExit: the far end is closed
			s.done = true
		}
	}
	n, err := s.r.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

func (s *stream) Write(p []byte) (int, error) { return frameWriter{s.conn, kindData}.Write(p) }

// CloseWrite says that nothing more will be written.
func (s *stream) CloseWrite() error { return s.send(kindEOF, nil) }
