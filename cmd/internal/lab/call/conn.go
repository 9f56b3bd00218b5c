package call

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Kinds of frames. A frame is its kind, four bytes of length, and the payload.
const (
	kindRequest = 'R' // JSON Request, the first frame of a call
	kindOpened  = 'O' // the request is being served: the stream is open
	kindData    = 'D' // standard input one way, standard output the other
	kindError   = 'E' // standard error
	kindEOF     = 'C' // standard input ends
	kindExit    = 'X' // JSON Exit, the last frame of a call
)

const (
	headerLen = 5
	maxData   = 32 << 10
	maxFrame  = 1 << 20 // a longer one means that the two sides do not understand each other
)

// A Request says what shall be done.
type Request struct {
	Op   string
	Args json.RawMessage `json:",omitempty"`
}

// An Exit says how it ended.
type Exit struct {
	Code   int             `json:",omitempty"`
	Err    string          `json:",omitempty"` // not done, or nobody knows how it ended
	Result json.RawMessage `json:",omitempty"`
}

// conn reads and writes frames. A read that times out loses nothing: frames are peeked before they are taken.
type conn struct {
	net.Conn
	r   *bufio.Reader
	wmu sync.Mutex
}

func newConn(c net.Conn) *conn { return &conn{Conn: c, r: bufio.NewReaderSize(c, maxData+headerLen)} }

// Close also ends reads and writes in progress, which the Close of a multiplexed stream does not.
func (c *conn) Close() error {
	c.SetDeadline(time.Unix(1, 0)) // a connection that takes no deadline is closed all the same
	return c.Conn.Close()
}

func (c *conn) send(kind byte, p []byte) error {
	for {
		n := min(len(p), maxData)
		b := make([]byte, headerLen+n)
		b[0] = kind
		binary.BigEndian.PutUint32(b[1:], uint32(n))
		copy(b[headerLen:], p)
		c.wmu.Lock()
		_, err := c.Write(b)
		c.wmu.Unlock()
		if err != nil {
			return err
		}
		if p = p[n:]; len(p) == 0 {
			return nil
		}
	}
}

func (c *conn) sendJSON(kind byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) > maxData {
		return fmt.Errorf("send %d bytes of JSON: at most %d", len(b), maxData)
	}
	return c.send(kind, b)
}

// header returns the kind and length of the next frame.
func (c *conn) header() (byte, int, error) {
	h, err := c.r.Peek(headerLen)
	if err != nil {
		return 0, 0, err
	}
	n := int(binary.BigEndian.Uint32(h[1:]))
	if n > maxFrame {
		return 0, 0, fmt.Errorf("read a frame of %d bytes: at most %d", n, maxFrame)
	}
	kind := h[0]
	_, err = c.r.Discard(headerLen)
	return kind, n, err
}

func (c *conn) recv() (byte, []byte, error) {
	kind, n, err := c.header()
	if err != nil {
		return 0, nil, err
	}
	p := make([]byte, n)
	if _, err := io.ReadFull(c.r, p); err != nil {
		return 0, nil, fmt.Errorf("read a frame: %w", err)
	}
	return kind, p, nil
}

// frameWriter is a stream of one kind of frame.
type frameWriter struct {
	c    *conn
	kind byte
}

func (w frameWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := w.c.send(w.kind, p); err != nil {
		return 0, err
	}
	return len(p), nil
}
