package line

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"
)

// Hellos come so often because a launcher that waits for the rest of half a frame takes them for it, until it is full.
const helloEvery = 100 * time.Millisecond

// ErrClosed is what a session that has ended says.
var ErrClosed = errors.New("serial session closed")

// A Host is the launcher's end of a line, for as long as the node's kernel runs.
type Host struct {
	r     *bufio.Reader
	w     io.Writer
	wmu   sync.Mutex
	nonce []byte // of a hello that ended the session before
}

// NewHost serves the launcher's end of rw.
func NewHost(rw io.ReadWriter) *Host { return &Host{r: bufio.NewReaderSize(rw, 64<<10), w: rw} }

// Accept waits for an agent and returns a session with it. The session before must have ended: its reader has returned.
func (h *Host) Accept() (*Session, error) {
	nonce := h.nonce
	h.nonce = nil
	for nonce == nil {
		var err error
		if nonce, err = findHello(h.r); err != nil {
			return nil, err
		}
	}
	s := newSession(h.r, h.w, &h.wmu)
	s.host, s.nonce = h, nonce
	if err := s.write(hello(nonce)); err != nil {
		return nil, err
	}
	return s, nil
}

// Join says hello as the agent on rw until the launcher answers, and returns the session.
func Join(ctx context.Context, rw io.ReadWriter) (*Session, error) {
	nonce := make([]byte, nonceLen)
	rand.Read(nonce) // it never fails
	s := newSession(bufio.NewReaderSize(rw, 64<<10), rw, new(sync.Mutex))
	s.nonce = nonce
	ctx, cancel := context.WithCancel(ctx)
	var said sync.WaitGroup
	said.Go(func() {
		for s.write(hello(nonce)) == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(helloEvery):
			}
		}
	})
	defer said.Wait()
	defer cancel()
	for {
		got, err := findHello(s.r)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(got, nonce) {
			return s, nil
		}
	}
}

// A Session is one agent's stream of bytes. It has one reader; writers may be many.
type Session struct {
	r     *bufio.Reader
	w     io.Writer
	wmu   *sync.Mutex // of w, which sessions of one host share
	nonce []byte
	host  *Host // nil: this is the agent's end
	rest  []byte

	mu     sync.Mutex
	free   *sync.Cond
	out    int // bytes sent and not acknowledged
	closed bool
}

func newSession(r *bufio.Reader, w io.Writer, wmu *sync.Mutex) *Session {
	s := &Session{r: r, w: w, wmu: wmu}
	s.free = sync.NewCond(&s.mu)
	return s
}

func (s *Session) write(b []byte) error {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	_, err := s.w.Write(b)
	return err
}

// Read returns what the other end wrote. Any error ends the session.
func (s *Session) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if err := s.next(); err != nil {
			s.Close()
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *Session) next() error {
	kind, p, err := readFrame(s.r)
	if err != nil {
		return err
	}
	switch kind {
	case kindData:
		s.rest = p
		if s.host == nil {
			return s.write(frame(kindAck, binary.BigEndian.AppendUint32(nil, uint32(len(p)+overhead))))
		}
	case kindAck:
		if len(p) == 4 {
			s.acked(int(binary.BigEndian.Uint32(p)))
		}
	case kindBye:
		return io.EOF
	case kindHello:
		if nonce := nonceOf(kind, p); nonce != nil && !bytes.Equal(nonce, s.nonce) {
			if s.host != nil {
				s.host.nonce = nonce
			}
			return errors.New("the other end started again")
		}
	}
	return nil
}

func (s *Session) acked(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out -= n
	s.free.Broadcast()
}

// Write sends p; towards the node it waits for room in the window.
func (s *Session) Write(p []byte) (int, error) {
	for sent := 0; sent < len(p); {
		n := min(len(p)-sent, maxData)
		if err := s.room(n + overhead); err != nil {
			return sent, err
		}
		if err := s.write(frame(kindData, p[sent:sent+n])); err != nil {
			return sent, err
		}
		sent += n
	}
	return len(p), nil
}

func (s *Session) room(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.host != nil && !s.closed && s.out+n > window {
		s.free.Wait()
	}
	if s.closed {
		return ErrClosed
	}
	s.out += n
	return nil
}

// Close ends the session; the line stays open for the next one. A Read in progress goes on until the line says something.
func (s *Session) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.free.Broadcast()
	s.mu.Unlock()
	if first && s.host == nil {
		return s.write(frame(kindBye, nil))
	}
	return nil
}
