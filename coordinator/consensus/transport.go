package consensus

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/hashicorp/raft"
)

// NetworkConfig is what a transport over a network is made of. Whoever makes it decides
// who may speak: listener and Dial are those of mutual TLS.
type NetworkConfig struct {
	Listener  net.Listener
	Advertise string // host:port under which the others reach the listener
	Dial      func(ctx context.Context, addr string) (net.Conn, error)
	Timeout   time.Duration // of one message; zero: 10 s
	Logger    *slog.Logger
}

// NewTransport carries Raft's messages over the network until it is closed.
func NewTransport(cfg NetworkConfig) *raft.NetworkTransport {
	setDefault(&cfg.Timeout, 10*time.Second)
	return raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream:                  streams{cfg.Listener, cfg},
		MaxPool:                 3,
		Timeout:                 cfg.Timeout,
		Logger:                  newLogger(cfg.Logger),
		MsgpackUseNewTimeFormat: true,
	})
}

// streams makes connections the way Raft asks for them.
type streams struct {
	net.Listener
	cfg NetworkConfig
}

func (s streams) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.cfg.Dial(ctx, string(addr))
}

// Addr is where the others reach this member, which is what Raft calls it.
func (s streams) Addr() net.Addr { return advertised(s.cfg.Advertise) }

type advertised string

func (a advertised) Network() string { return "tcp" }
func (a advertised) String() string  { return string(a) }
