package cli_test

import (
	"bytes"
	"crypto/ecdsa"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"rvol/cmd/internal/cli"
	"rvol/proto/clientconfig"
	"rvol/proto/identity"
)

// TestConfigurationConnectsOverTLS is the one test of the connections that Env.Dial replaces elsewhere.
func TestConfigurationConnectsOverTLS(t *testing.T) {
	ca, other := newCA(t, "prod"), newCA(t, "prod")
	endpoint := serveTLS(t, ca)
	for _, tt := range []struct {
		name      string
		ca        *identity.CA
		endpoints []string
		code      int
		says      string
	}{
		{"the first endpoint is down", ca, []string{"127.0.0.1:1", endpoint}, 0, ""},
		{"another cluster of the same name", other, []string{endpoint}, 7, "certificate"},
		{"nobody is there", ca, []string{"127.0.0.1:1"}, 7, "127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused. Check that rvol-coordinator runs there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			key, cert := admin(t, tt.ca)
			config := clientconfig.Config{
				Cluster: "prod", Endpoints: tt.endpoints, CA: string(identity.EncodeCertificates(tt.ca.Certificate())), Cert: cert, Key: key,
			}
			if err := config.Save(file); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			env := cli.Env{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
			if code := cli.Run(t.Context(), env, []string{"volume", "list", "-o", "name", "--config", file}); code != tt.code {
				t.Errorf("exit status %d, want %d: %s", code, tt.code, &errs)
			}
			if !strings.Contains(errs.String(), tt.says) {
				t.Errorf("message %q, want %q in it", &errs, tt.says)
			}
		})
	}
}

func newCA(t *testing.T, cluster string) *identity.CA {
	t.Helper()
	ca, err := identity.NewCA(cluster, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// admin makes a person's key and certificate, as PEM texts.
func admin(t *testing.T, ca *identity.CA) (key, cert string) {
	t.Helper()
	k := newKey(t)
	c, err := ca.SignPerson(&k.PublicKey, identity.ID{Cluster: ca.Cluster(), Role: identity.Admin, Name: "anna"}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	text, err := identity.EncodeKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), string(identity.EncodeCertificates(c))
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := identity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// serveTLS runs a coordinator of the CA's cluster on this machine and returns its endpoint.
func serveTLS(t *testing.T, ca *identity.CA) string {
	t.Helper()
	k := newKey(t)
	cert, err := ca.SignMachine(&k.PublicKey, identity.ID{Cluster: ca.Cluster(), Role: identity.Server, Name: "c1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	creds, err := identity.NewCredentials(k, cert, identity.Roots{ca.Certificate()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	people := identity.Peers{
		Allow: identity.AllowRoles(identity.Admin),
		Known: func(identity.Fingerprint, identity.ID) error { return nil },
	}
	newFake().listen(t, l, grpc.Creds(credentials.NewTLS(identity.ServerTLS(identity.NewSource(creds), people))))
	return l.Addr().String()
}
