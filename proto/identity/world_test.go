package identity

import (
	"crypto/ecdsa"
	"crypto/tls"
	"net"
	"sync"
	"testing"
	"time"
)

func today() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// world is one cluster as the tests see it.
type world struct {
	ca    *CA
	roots Roots
}

func newWorld(t *testing.T, cluster string) world {
	t.Helper()
	ca, err := NewCA(cluster, today())
	if err != nil {
		t.Fatal(err)
	}
	return world{ca: ca, roots: Roots{ca.Certificate()}}
}

func (w world) id(role Role, name string) ID {
	return ID{Cluster: w.ca.Cluster(), Role: role, Name: name}
}

// issue makes credentials signed today: machines' last 90 days, people's 30.
func (w world) issue(t *testing.T, role Role, name string) *Credentials {
	t.Helper()
	key := newKey(t)
	cert, err := w.ca.SignMachine(&key.PublicKey, w.id(role, name), today())
	if role.Person() {
		cert, err = w.ca.SignPerson(&key.PublicKey, w.id(role, name), today(), 30*24*time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCredentials(key, cert, w.roots)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// meeting is how a handshake ended on both sides.
type meeting struct {
	server, client       error
	atServer, atClient   Peer
	peerErr, dialPeerErr error
}

// meet lets a dialer and a listener shake hands and exchange a byte, which carries the server's refusal if there is one.
func meet(t *testing.T, server, client *tls.Config) meeting {
	t.Helper()
	left, right := wire(t)
	deadline := time.Now().Add(time.Minute)
	for _, c := range []net.Conn{left, right} {
		if err := c.SetDeadline(deadline); err != nil {
			t.Fatal(err)
		}
	}
	listener, dialer := tls.Server(left, server), tls.Client(right, client)
	var m meeting
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, m.server = listener.Write([]byte{1}); m.server == nil {
			m.atServer, m.peerErr = PeerOf(listener.ConnectionState())
		}
		_ = left.Close()
	})
	wg.Go(func() {
		if _, m.client = dialer.Read(make([]byte, 1)); m.client == nil {
			m.atClient, m.dialPeerErr = PeerOf(dialer.ConnectionState())
		}
		_ = right.Close()
	})
	wg.Wait()
	return m
}

// wire is a pair of connected sockets. net.Pipe would not do: it holds no bytes, so that a side that refuses in the
// middle of the other's flight would wait for it to be read for ever.
func wire(t *testing.T) (left, right net.Conn) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if right, err = new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if left, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return left, right
}

func everyKey(Fingerprint, ID) error { return nil }
