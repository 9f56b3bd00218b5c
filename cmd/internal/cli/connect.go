package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"rvol/proto/clientconfig"
	"rvol/proto/identity"
)

const (
	// connectTimeout is how long one coordinator may take to accept a connection before the next one is asked.
	connectTimeout = 2 * time.Second
	// pingAfter so much silence a coordinator is asked whether it is still there: one that lost power says nothing.
	pingAfter = 10 * time.Second
)

// connect finds out whom to ask, and how. It is called before the first call, so that usage errors come first.
func (c *client) connect() error {
	if c.dial != nil {
		return nil
	}
	a := c.app
	if a.flags.requestID != "" {
		c.requestID = a.flags.requestID
	}
	endpoints, dial := a.flags.endpoints, a.env.Dial
	if len(endpoints) == 0 && dial != nil {
		endpoints = a.env.Endpoints
	}
	if len(endpoints) == 0 || dial == nil {
		config, err := a.loadConfig()
		if err != nil {
			return err
		}
		if len(endpoints) == 0 {
			endpoints = config.Endpoints
		}
		if dial == nil {
			if dial, err = dialer(config); err != nil {
				return failed("%s: %s", a.configPath(), err)
			}
		}
	}
	c.endpoints, c.dial = endpoints, dial
	return nil
}

func (a *app) loadConfig() (clientconfig.Config, error) {
	path := a.configPath()
	config, err := clientconfig.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		f := failed("no configuration at %s", path)
		f.next = "Make one with `rvol-coordinator admin-cert` on a coordinator, or name yours with --config or RVOL_CONFIG."
		return config, f
	}
	if err != nil {
		return config, failed("%s", err)
	}
	return config, nil
}

func (a *app) configPath() string {
	if a.flags.config != "" {
		return a.flags.config
	}
	if path := a.env.Getenv(clientconfig.PathVariable); path != "" {
		return path
	}
	dir := a.env.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(a.env.Getenv("HOME"), ".config")
	}
	return filepath.Join(dir, "rvol", "config.yaml")
}

// dialer connects with the configuration's certificate to coordinators of its cluster, and to nobody else.
func dialer(config clientconfig.Config) (func(context.Context, string) (grpc.ClientConnInterface, error), error) {
	creds, err := config.Credentials()
	if err != nil {
		return nil, err
	}
	tls := identity.ClientTLS(identity.NewSource(creds), identity.Peers{Allow: identity.AllowRoles(identity.Server)})
	return func(_ context.Context, endpoint string) (grpc.ClientConnInterface, error) {
		conn, err := grpc.NewClient(endpoint,
			grpc.WithTransportCredentials(credentials.NewTLS(tls)),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: connectTimeout}),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: connectTimeout}),
			grpc.WithNoProxy(),
		)
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", endpoint, err)
		}
		return conn, nil
	}, nil
}
