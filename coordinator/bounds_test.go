package coordinator

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"

	adminv1 "rvol/proto/admin/v1"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// joined is a client with the certificate of a node that has joined.
func (c *cluster) joined(name string) *grpc.ClientConn {
	c.t.Helper()
	token, err := adminv1.NewTokensClient(c.api("c1")).Create(c.t.Context(), &adminv1.CreateTokenRequest{Kind: "node", Subject: name})
	if err != nil {
		c.t.Fatal(err)
	}
	parsed, err := identity.ParseToken(token.GetText())
	if err != nil {
		c.t.Fatal(err)
	}
	dir := identity.Dir(c.at("node-" + name))
	if err := identity.MakeStateDir(string(dir)); err != nil {
		c.t.Fatal(err)
	}
	key, err := dir.EnsureKey()
	if err != nil {
		c.t.Fatal(err)
	}
	csr, err := identity.NewRequest(key)
	if err != nil {
		c.t.Fatal(err)
	}
	stranger, err := dialAPI("c1:7170", c.net.dial, identity.PinnedTLS(parsed.CA, time.Now))
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = stranger.Close() }() // asked once
	answer, err := agentv1.NewAgentsClient(stranger).Join(c.t.Context(), &agentv1.JoinRequest{
		Token: token.GetText(), Csr: csr, Name: name, Addresses: map[string]string{"default": "10.0.0.1"},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	creds, err := saved(dir, answer)
	if err != nil {
		c.t.Fatal(err)
	}
	conn, err := dialAPI("c1:7170", c.net.dial, identity.ClientTLS(identity.NewSource(creds), identity.Peers{Allow: identity.AllowRoles(identity.Server)}))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() }) // the test is over
	return conn
}

// ofAgents are the calls that an agent's certificate makes. What each of them may reach is held in serve/agents.
var ofAgents = []string{
	"/grpc.health.v1.Health/Check", "/rvol.agent.v1.Agents/Attach", "/rvol.agent.v1.Agents/Detach",
	"/rvol.agent.v1.Agents/Join", "/rvol.agent.v1.Agents/Renew", "/rvol.agent.v1.Agents/Session",
	"/rvol.admin.v1.Cluster/JoinMember", // by a token: the certificate counts for nothing
}

// TestAnAgentsCertificateOpensNothingElse makes every call there is with the certificate of a node.
func TestAnAgentsCertificateOpensNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.until("c1 leads", func() bool { s, err := c.status("c1", false); return err == nil && s.GetId() == "test" })
		conn := c.joined("n1")
		calls := 0
		protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
			if !slices.Contains([]protoreflect.FullName{"rvol.admin.v1", "rvol.agent.v1", "grpc.health.v1"}, file.Package()) {
				return true
			}
			for i := range file.Services().Len() {
				methods := file.Services().Get(i).Methods()
				for j := range methods.Len() {
					calls++
					m := methods.Get(j)
					name := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
					err := called(t.Context(), conn, name, m)
					refused := status.Code(err) == codes.PermissionDenied && strings.Contains(err.Error(), "agent/n1 may not call")
					if may := slices.Contains(ofAgents, name); may == refused || status.Code(err) == codes.Unimplemented {
						t.Errorf("%s: %v: may an agent call it? %v", name, err, may)
					}
				}
			}
			return true
		})
		if calls < 70 {
			t.Errorf("%d calls were made: where are the others?", calls)
		}
	})
}

// called makes a call that asks for nothing, and returns how it ended.
func called(ctx context.Context, conn *grpc.ClientConn, name string, m protoreflect.MethodDescriptor) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if !m.IsStreamingClient() && !m.IsStreamingServer() {
		return conn.Invoke(ctx, name, &emptypb.Empty{}, &emptypb.Empty{})
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, name)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(&emptypb.Empty{}); err != nil {
		return stream.RecvMsg(&emptypb.Empty{})
	}
	return stream.RecvMsg(&emptypb.Empty{})
}

// saved keeps what a node was given when it joined.
func saved(dir identity.Dir, a *agentv1.JoinResponse) (*identity.Credentials, error) {
	cert, err := x509.ParseCertificate(a.GetCertificate())
	if err != nil {
		return nil, err
	}
	ca, err := x509.ParseCertificate(a.GetCa())
	if err != nil {
		return nil, err
	}
	return dir.Save(cert, identity.Roots{ca})
}
