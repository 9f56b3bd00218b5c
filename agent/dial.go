package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"rvol/proto/identity"
)

// A NetDialer opens a connection to an address.
type NetDialer func(ctx context.Context, addr string) (net.Conn, error)

// TCP is the ordinary NetDialer.
func TCP(ctx context.Context, addr string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", addr)
}

// maxOrder is the size of the largest order, in bytes.
const maxOrder = 64 << 20

// connect makes a client of one coordinator; nothing is sent yet.
func connect(addr string, dial NetDialer, config *tls.Config) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(credentials.NewTLS(config)), grpc.WithContextDialer(dial), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxOrder)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return conn, nil
}

// DialWith makes Config.Dial of the machine's certificate. The clock says whether others' are in their time; nil: time.Now.
func DialWith(source *identity.Source, dial NetDialer, clock func() time.Time) func(context.Context, string) (grpc.ClientConnInterface, error) {
	config := identity.ClientTLS(source, identity.Peers{Allow: identity.AllowRoles(identity.Server), Now: clock})
	return func(_ context.Context, addr string) (grpc.ClientConnInterface, error) {
		return connect(addr, dial, config)
	}
}
