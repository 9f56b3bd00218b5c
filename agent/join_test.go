package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/test/bufconn"

	"rvol/agent"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// registrar signs every key that comes with its token.
type registrar struct {
	agentv1.UnimplementedAgentsServer
	t     *testing.T
	ca    *identity.CA
	token string
	asked []*agentv1.JoinRequest
	fail  error
}

func (r *registrar) sign(csr []byte) []byte {
	key, err := identity.KeyOfRequest(csr)
	if err != nil {
		r.t.Error(err)
		return nil
	}
	cert, err := r.ca.SignMachine(key, identity.ID{Cluster: "c1", Role: identity.Agent, Name: "n1"}, time.Now())
	if err != nil {
		r.t.Error(err)
		return nil
	}
	return cert.Raw
}

func (r *registrar) Join(_ context.Context, m *agentv1.JoinRequest) (*agentv1.JoinResponse, error) {
	r.asked = append(r.asked, m)
	if r.fail != nil {
		return nil, r.fail
	}
	return &agentv1.JoinResponse{Certificate: r.sign(m.Csr), Ca: r.ca.Certificate().Raw, Cluster: "c1", Coordinators: []string{"a", "b"}}, nil
}

func (r *registrar) Renew(_ context.Context, m *agentv1.RenewRequest) (*agentv1.RenewResponse, error) {
	return &agentv1.RenewResponse{Certificate: r.sign(m.Csr), Ca: r.ca.Certificate().Raw}, nil
}

// serve runs a registrar over TLS and gives a dialer to it.
func serve(t *testing.T, r *registrar) agent.NetDialer {
	t.Helper()
	return serveAs(t, r, r)
}

// serveAs runs a server that has a registrar.
func serveAs(t *testing.T, r *registrar, service agentv1.AgentsServer) agent.NetDialer {
	t.Helper()
	var err error
	if r.ca, err = identity.NewCA("c1", time.Now()); err != nil {
		t.Fatal(err)
	}
	token, err := identity.NewToken(identity.NodeToken, identity.HashOf(r.ca.Certificate()))
	if err != nil {
		t.Fatal(err)
	}
	r.t, r.token = t, token.Reveal()
	key, err := identity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := r.ca.SignMachine(&key.PublicKey, identity.ID{Cluster: "c1", Role: identity.Server, Name: "a"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	own, err := identity.NewCredentials(key, cert, identity.Roots{r.ca.Certificate()})
	if err != nil {
		t.Fatal(err)
	}
	known := identity.Peers{Allow: identity.AllowRoles(identity.Agent), Known: func(identity.Fingerprint, identity.ID) error { return nil }}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(identity.JoinServerTLS(identity.NewSource(own), known))))
	agentv1.RegisterAgentsServer(server, service)
	listener := bufconn.Listen(1 << 20)
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-ended })
	return func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
}

func (r *registrar) config(dir string, dial agent.NetDialer) agent.JoinConfig {
	return agent.JoinConfig{
		State: dir, Token: r.token, Coordinators: []string{"127.0.0.1:1"}, Name: "n1", Zone: "z", Lab: true,
		Addresses: map[string]string{"default": "127.0.0.1"}, Dial: dial,
	}
}

func TestJoiningMakesAnIdentityThatStaysHere(t *testing.T) {
	r := &registrar{}
	dial := serve(t, r)
	dir := filepath.Join(t.TempDir(), "state")
	p, err := agent.Join(t.Context(), r.config(dir, dial))
	if err != nil {
		t.Fatal(err)
	}
	if p.Cluster != "c1" || p.Coordinators[0] != "a" || r.asked[0].Zone != "z" || r.asked[0].Addresses["default"] != "127.0.0.1" {
		t.Errorf("place %+v, asked %v", p, r.asked)
	}
	own, err := agent.IdentityDir(dir).Load()
	if err != nil || own.ID.Name != "n1" {
		t.Fatalf("identity %v, %v", own, err)
	}
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := agent.Join(t.Context(), r.config(dir, dial)); err == nil || !strings.Contains(err.Error(), "node n1 of cluster c1 already") {
		t.Errorf("joining twice: %v", err)
	}
}

func TestAJoinThatWasCutOffIsRepeatedWithTheSameKey(t *testing.T) {
	r := &registrar{fail: errors.New("lost on the way")}
	dial := serve(t, r)
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := agent.Join(t.Context(), r.config(dir, dial)); err == nil || !strings.Contains(err.Error(), "lost on the way") {
		t.Fatalf("error is %v", err)
	}
	r.fail = nil
	if _, err := agent.Join(t.Context(), r.config(dir, dial)); err != nil {
		t.Fatal(err)
	}
	first, err1 := identity.KeyOfRequest(r.asked[0].Csr)
	second, err2 := identity.KeyOfRequest(r.asked[1].Csr)
	if err1 != nil || err2 != nil || !first.Equal(second) {
		t.Error("another key was made")
	}
}

func TestJoiningRefuses(t *testing.T) {
	r := &registrar{}
	dial := serve(t, r)
	for name, c := range map[string]struct {
		change func(*agent.JoinConfig)
		want   string
	}{
		"half a token":                       {func(c *agent.JoinConfig) { c.Token = c.Token[:30] }, "invalid token"},
		"a token of another cluster":         {func(c *agent.JoinConfig) { c.Token = otherToken(t) }, "wrong address, a token of another cluster"},
		"no coordinator":                     {func(c *agent.JoinConfig) { c.Coordinators = nil }, "--coordinator"},
		"an address of another machine":      {func(c *agent.JoinConfig) { c.Addresses["default"] = "192.0.2.7" }, "no interface of this machine has 192.0.2.7"},
		"a loopback address outside of labs": {func(c *agent.JoinConfig) { c.Lab = false }, "loopback"},
		"an address that is none":            {func(c *agent.JoinConfig) { c.Addresses["default"] = "here" }, "--address default=IP"},
	} {
		t.Run(name, func(t *testing.T) {
			config := r.config(t.TempDir(), dial)
			c.change(&config)
			if _, err := agent.Join(t.Context(), config); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
		})
	}
}

func otherToken(t *testing.T) string {
	t.Helper()
	ca, err := identity.NewCA("other", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	token, err := identity.NewToken(identity.NodeToken, ca.Hash())
	if err != nil {
		t.Fatal(err)
	}
	return token.Reveal()
}

func TestCertificatesRenewThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registrar{}
		dial := serve(t, r)
		dir := filepath.Join(t.TempDir(), "state")
		if _, err := agent.Join(t.Context(), r.config(dir, dial)); err != nil {
			t.Fatal(err)
		}
		own, err := agent.IdentityDir(dir).Load()
		if err != nil {
			t.Fatal(err)
		}
		source := identity.NewSource(own)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		renewal := agent.Renewal{State: dir, Source: source, Coordinators: []string{"a"}, Dial: agent.DialWith(source, dial, nil), Log: slog.New(slog.DiscardHandler)}
		go func() { ended <- renewal.Run(ctx) }()
		time.Sleep(29 * 24 * time.Hour)
		synctest.Wait()
		if now, _ := source.Current(); now != own {
			t.Error("renewed before its time")
		}
		time.Sleep(2 * 24 * time.Hour)
		synctest.Wait()
		now, _ := source.Current()
		kept, err := agent.IdentityDir(dir).Load()
		if err != nil || now == own || !kept.Certificate().Equal(now.Certificate()) || !now.Certificate().NotAfter.After(own.Certificate().NotAfter) {
			t.Errorf("after a third of its life: %v, %v", now, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
