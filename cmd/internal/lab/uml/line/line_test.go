package line_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rvol/cmd/internal/lab/uml/line"
)

// terminal is the node's end of a serial line whose input buffer has 4 KiB: what does not fit is lost, as when a real one is throttled.
type terminal struct {
	out io.Writer

	mu    sync.Mutex
	some  *sync.Cond
	in    []byte
	most  int
	ended bool
}

const terminalBuffer = 4096

func newTerminal(out io.Writer) *terminal {
	t := &terminal{out: out}
	t.some = sync.NewCond(&t.mu)
	return t
}

func (t *terminal) arrive(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in = append(t.in, b...)
	t.most = max(t.most, len(t.in))
	t.in = t.in[:min(len(t.in), terminalBuffer)]
	t.some.Broadcast()
}

func (t *terminal) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.in) == 0 {
		if t.ended {
			return 0, io.EOF
		}
		t.some.Wait()
	}
	n := copy(p, t.in)
	t.in = t.in[n:]
	return n, nil
}

func (t *terminal) Write(p []byte) (int, error) { return t.out.Write(p) }

func (t *terminal) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.some.Broadcast()
}

// hostEnd reads what the terminal writes and makes what it writes arrive there.
type hostEnd struct {
	io.Reader
	t *terminal
}

func (h hostEnd) Write(p []byte) (int, error) {
	h.t.arrive(p)
	return len(p), nil
}

type cable struct {
	host *line.Host
	term *terminal
	pull func()
}

func newCable() cable {
	near, far := net.Pipe()
	t := newTerminal(far)
	return cable{host: line.NewHost(hostEnd{near, t}), term: t, pull: func() { near.Close(); far.Close(); t.end() }}
}

// connect starts a session at both ends.
func (c cable) connect(t *testing.T) (host, node *line.Session) {
	t.Helper()
	joined := make(chan *line.Session, 1)
	go func() {
		s, err := line.Join(context.Background(), c.term)
		if err != nil {
			t.Error(err)
		}
		joined <- s
	}()
	host, err := c.host.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return host, <-joined
}

func TestBytesPassBothWays(t *testing.T) {
	c := newCable()
	defer c.pull()
	host, node := c.connect(t)
	go io.Copy(node, node) // echo, until the line is pulled
	text := strings.Repeat("all bytes \x00\xff\n", 50_000)
	go host.Write([]byte(text)) // the reader sees what came
	got := make([]byte, len(text))
	if _, err := io.ReadFull(host, got); err != nil {
		t.Fatal(err)
	}
	if string(got) != text {
		t.Error("other bytes came back")
	}
}

func TestTheTerminalsBufferNeverFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCable()
		host, node := c.connect(t)
		const size = 100_000
		wrote := make(chan error, 1)
		go func() {
			_, err := host.Write(make([]byte, size))
			wrote <- err
		}()
		acks := make(chan struct{})
		go func() {
			defer close(acks)
			io.Copy(io.Discard, host) // until the line is pulled
		}()
		got := 0
		for b := make([]byte, 700); got < size; { // a slow reader
			time.Sleep(time.Millisecond)
			n, err := node.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
		if err := <-wrote; err != nil {
			t.Error(err)
		}
		c.pull()
		<-acks
		if c.term.most >= terminalBuffer {
			t.Errorf("the terminal had to hold %d bytes", c.term.most)
		}
	})
}

func TestAnAgentThatStartsAgainGetsANewSession(t *testing.T) {
	c := newCable()
	defer c.pull()
	host, _ := c.connect(t)
	again := make(chan *line.Session, 1)
	go func() {
		s, err := line.Join(t.Context(), c.term)
		if err != nil {
			t.Error(err)
		}
		again <- s
	}()
	if _, err := host.Read(make([]byte, 1)); err == nil {
		t.Fatal("the old session goes on")
	}
	if _, err := host.Write([]byte("x")); err == nil {
		t.Error("the old session still takes bytes")
	}
	second, err := c.host.Accept()
	if err != nil {
		t.Fatal(err)
	}
	node := <-again
	go second.Write([]byte("hello")) // the reader sees what came
	got := make([]byte, 5)
	go io.Copy(io.Discard, second) // acknowledgements, until the line is pulled
	if _, err := io.ReadFull(node, got); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAnAgentThatLeavesEndsTheSession(t *testing.T) {
	c := newCable()
	defer c.pull()
	host, node := c.connect(t)
	go node.Close() // the host sees it
	if _, err := host.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestHalfAFrameEndsASessionAndTheNextHelloIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCable()
		host, _ := c.connect(t)
		joined := make(chan error, 1)
		go func() {
			c.term.Write([]byte("D\x05\x00an agent died after these words")) // the host sees what came
			_, err := line.Join(t.Context(), c.term)
			joined <- err
		}()
		start := time.Now()
		if _, err := host.Read(make([]byte, 1)); err == nil {
			t.Fatal("garbage was read as data")
		}
		if _, err := c.host.Accept(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("found the new agent after %v", took)
		}
		if err := <-joined; err != nil {
			t.Error(err)
		}
		c.pull()
	})
}

func FuzzHostTakesAnyBytes(f *testing.F) {
	f.Add([]byte("LABHELLO1\n"))
	f.Add([]byte("H\x00\x12LABHELLO1\n12345678\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := line.NewHost(struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(b), io.Discard})
		for {
			s, err := h.Accept()
			if err != nil {
				return
			}
			io.Copy(io.Discard, s) // it ends where the bytes end
		}
	})
}
