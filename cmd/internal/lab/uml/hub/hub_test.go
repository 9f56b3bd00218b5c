package hub_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/cmd/internal/lab/uml/hub"
)

// station is a node's network card.
type station struct {
	t    *testing.T
	conn *net.UnixConn
	mac  byte
}

func listen(t *testing.T, ports ...string) (*hub.Hub, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hub") //nolint:usetesting // TempDir is too long for a unix socket
	if err != nil {
		t.Fatal(err)
	}
	h, err := hub.Listen(dir, ports...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	return h, dir
}

func connect(t *testing.T, dir, port string, mac byte) *station {
	t.Helper()
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: filepath.Join(dir, port+".sock"), Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &station{t: t, conn: c, mac: mac}
}

// three connects n1, n2 and n3 and lets the switch learn where they are.
func three(t *testing.T) (h *hub.Hub, a, b, c *station) {
	t.Helper()
	h, dir := listen(t, "n1", "n2", "n3")
	a, b, c = connect(t, dir, "n1", 1), connect(t, dir, "n2", 2), connect(t, dir, "n3", 3)
	for up := 0; up < 3; { // a connection is served a moment after it is made
		up = 0
		for _, p := range h.Stats() {
			if p.Up {
				up++
			}
		}
	}
	for _, s := range []*station{a, b, c} {
		s.send(everybody, "I am here")
		for _, other := range []*station{a, b, c} {
			if other != s {
				other.want("I am here")
			}
		}
	}
	return h, a, b, c
}

const everybody = 0xff

func (s *station) send(to byte, text string) {
	s.t.Helper()
	dst := []byte{2, 0, 0, 0, 0, to}
	if to == everybody {
		dst = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	}
	f := append(dst, 2, 0, 0, 0, 0, s.mac, 0x08, 0)
	if _, err := s.conn.Write(append(f, text...)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *station) receive(patience time.Duration) (string, bool) {
	s.t.Helper()
	b := make([]byte, 2000)
	s.conn.SetReadDeadline(time.Now().Add(patience)) // a socket can
	n, err := s.conn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "", false
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b[14:n]), true
}

func (s *station) want(text string) {
	s.t.Helper()
	if got, ok := s.receive(time.Minute); !ok || got != text {
		s.t.Fatalf("station %d received %q, wanted %q", s.mac, got, text)
	}
}

func (s *station) wantNothing() {
	s.t.Helper()
	if got, ok := s.receive(50 * time.Millisecond); ok {
		s.t.Fatalf("station %d received %q, wanted nothing", s.mac, got)
	}
}

func TestAFrameGoesWhereItsAddressWasSeen(t *testing.T) {
	h, a, b, c := three(t)
	a.send(2, "to b")
	b.want("to b")
	c.wantNothing()
	a.send(9, "to nobody known")
	b.want("to nobody known")
	c.want("to nobody known")
	want := []hub.PortStats{
		{Port: "n1", Up: true, Frames: 3, Bytes: 23 + 18 + 29},
		{Port: "n2", Up: true, Frames: 1, Bytes: 23},
		{Port: "n3", Up: true, Frames: 1, Bytes: 23},
	}
	if diff := cmp.Diff(want, h.Stats()); diff != "" {
		t.Error(diff)
	}
}

func set(t *testing.T, h *hub.Hub, from, to string, l hub.Link) {
	t.Helper()
	if err := h.Set(from, to, l); err != nil {
		t.Fatal(err)
	}
}

func TestACutLinkCarriesNothingInItsDirectionUntilItIsHealed(t *testing.T) {
	h, a, b, c := three(t)
	set(t, h, "n1", "n2", hub.Link{Cut: true})
	a.send(2, "lost")
	a.send(everybody, "broadcast")
	c.want("broadcast")
	b.wantNothing()
	b.send(1, "the other way")
	a.want("the other way")
	if diff := cmp.Diff([]string{"n1 -> n2: cut"}, h.Faults()); diff != "" {
		t.Error(diff)
	}
	h.Heal()
	a.send(2, "again")
	b.want("again")
	if got := h.Faults(); got != nil {
		t.Error(got)
	}
}

func TestALossyLinkLosesAll(t *testing.T) {
	h, a, b, _ := three(t)
	set(t, h, "n1", "n2", hub.Link{Drop: 100})
	for range 20 {
		a.send(2, "lost")
	}
	b.wantNothing()
}

func TestASlowLinkKeepsTheOrderOfFrames(t *testing.T) {
	h, a, b, _ := three(t)
	const delay = 30 * time.Millisecond
	set(t, h, "n1", "n2", hub.Link{Delay: delay})
	start := time.Now()
	for i := range 50 {
		a.send(2, strings.Repeat("x", i+1))
	}
	for i := range 50 {
		b.want(strings.Repeat("x", i+1))
	}
	if took := time.Since(start); took < delay {
		t.Errorf("frames that were to take %v took %v", delay, took)
	}
	set(t, h, "n1", "n2", hub.Link{}) // healthy again
	if got := h.Faults(); got != nil {
		t.Error(got)
	}
}

func TestANodeThatBootsAgainTakesItsPortOver(t *testing.T) {
	h, dir := listen(t, "n1", "n2")
	old := connect(t, dir, "n2", 2)
	a, b := connect(t, dir, "n1", 1), connect(t, dir, "n2", 2)
	old.conn.SetReadDeadline(time.Now().Add(time.Minute)) // a socket can
	if n, err := old.conn.Read(make([]byte, 100)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the old connection still lives: %d, %v", n, err)
	}
	for up := false; !up; {
		up = h.Stats()[0].Up && h.Stats()[1].Up
	}
	a.send(2, "to the new one")
	b.want("to the new one")
}

func TestANodeThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	h, a, b, c := three(t)
	for range 20_000 { // c never reads
		a.send(3, strings.Repeat("x", 1000))
	}
	a.send(2, "still here")
	b.want("still here")
	if h.Stats()[2].Lost == 0 {
		t.Error("nothing was counted as lost")
	}
	c.conn.Close()
}

func TestMistakesAreNamed(t *testing.T) {
	h, dir := listen(t, "n1", "n2")
	for _, c := range []struct{ from, to, want string }{
		{"n1", "n9", "change the link from n1 to n9: there is no port n9"},
		{"n1", "n1", "change the link from n1 to itself: there is none"},
	} {
		if err := h.Set(c.from, c.to, hub.Link{Cut: true}); err == nil || err.Error() != c.want {
			t.Errorf("got %v, wanted %s", err, c.want)
		}
	}
	long := filepath.Join(dir, strings.Repeat("x", 100))
	if _, err := hub.Listen(long, "n1"); err == nil || !strings.Contains(err.Error(), "at most 107") {
		t.Error(err)
	}
}
