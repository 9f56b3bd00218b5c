package consensus_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"testing"
	"time"

	"rvol/coordinator/consensus"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// authority makes certificates that its members accept of each other, and of nobody else.
func authority(t *testing.T) func(name string) *tls.Config {
	t.Helper()
	template := func(name string, serial int64) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"member"},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
	}
	ca := template("ca", 1)
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caKey := key(t)
	sign := func(c *x509.Certificate, k *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, ca, &k.PublicKey, caKey)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	root, err := x509.ParseCertificate(sign(ca, caKey))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	serial := int64(1)
	return func(name string) *tls.Config {
		serial++
		k := key(t)
		return &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{sign(template(name, serial), k)}, PrivateKey: k}},
			RootCAs:      pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
			MinVersion: tls.VersionTLS13, ServerName: "member",
		}
	}
}

func key(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// overNetwork starts a member on a real directory and a real network.
func overNetwork(t *testing.T, id string, l net.Listener, config *tls.Config) (*consensus.Node, *state.Store) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	transport := consensus.NewTransport(consensus.NetworkConfig{
		Listener: tls.NewListener(l, config), Advertise: l.Addr().String(), Logger: log, Timeout: time.Second,
		Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", addr)
		},
	})
	store := state.NewStore(state.Options{})
	node, err := consensus.New(consensus.Config{
		ID: id, Dir: t.TempDir(), Transport: transport, Store: store, Logger: log,
		OnFatal:          func(err error) { t.Error(err) },
		HeartbeatTimeout: 2 * time.Second, StableFor: time.Second, // real time: a busy machine must not look like a dead leader
		Free: func() (consensus.Space, error) { return consensus.Space{Free: 1, Total: 1}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(node.Close(), transport.Close()); err != nil {
			t.Error(err)
		}
	})
	return node, store
}

func TestMembersOverMutualTLS(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	certificate := authority(t)
	first := listen(t)
	leader, store := overNetwork(t, "n0", first, certificate("n0"))
	if err := leader.Bootstrap(consensus.Server{ID: "n0", Addr: first.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	for l := range leader.LeaderChanges(ctx) {
		if l.Leading {
			break
		}
	}
	stores := []*state.Store{store}
	for i := 1; i <= 2; i++ {
		id, l := fmt.Sprintf("n%d", i), listen(t)
		_, s := overNetwork(t, id, l, certificate(id))
		stores = append(stores, s)
		if err := leader.AddNonvoter(ctx, consensus.Server{ID: id, Addr: l.Addr().String()}); err != nil {
			t.Fatal(err)
		}
	}
	stranger, _ := overNetwork(t, "n9", listen(t), authority(t)("n9"))
	if err := stranger.Bootstrap(consensus.Server{ID: "n9", Addr: "x"}, consensus.Server{ID: "n0", Addr: first.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	rev, err := leader.Propose(ctx, put("a", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stores {
		if err := s.Wait(ctx, rev); err != nil {
			t.Fatal(err)
		}
		if _, ok := state.Get[*model.Node](s.View(), "a"); !ok {
			t.Error("a member lacks what was acknowledged")
		}
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for voters := 0; voters < 3; <-look.C {
		members, err := leader.Members()
		if err != nil {
			t.Fatal(err)
		}
		voters = 0
		for _, m := range members {
			if m.Voter {
				voters++
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("%d voters: %v", voters, members)
		}
	}
	if s := leader.Stats(); s.Leader != "n0" || s.Term > 2 {
		t.Errorf("the stranger had a say: %+v", s)
	}
}
