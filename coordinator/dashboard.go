package coordinator

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"

	"google.golang.org/grpc"

	"rvol/coordinator/model"
	"rvol/coordinator/serve"
	"rvol/coordinator/serve/web"
	"rvol/proto/identity"
)

// Dashboard is where browsers come in.
type Dashboard struct {
	Listener  net.Listener // TLS is put on top; nil: there is no dashboard
	Host      string       // under which browsers reach it; empty: that of the API
	Cert, Key string       // PEM files; empty: it signs its certificate itself
}

// listenDashboard opens the door for browsers. An address that is taken is no reason not to work.
func listenDashboard(ctx context.Context, o RunOptions, log *slog.Logger) (d Dashboard, err error) {
	if o.Dashboard == "" || o.Dashboard == "-" {
		return d, nil
	}
	if (o.DashboardCert == "") != (o.DashboardKey == "") {
		return d, fmt.Errorf("%w: --dashboard-cert and --dashboard-key: give both, or none", model.ErrInvalid)
	}
	d.Cert, d.Key = o.DashboardCert, o.DashboardKey
	host, _, err := net.SplitHostPort(o.Dashboard)
	if err != nil {
		return d, fmt.Errorf("%w: --dashboard %q: want HOST:PORT, or - for none: %w", model.ErrInvalid, o.Dashboard, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		d.Host = host
	}
	if d.Listener, err = new(net.ListenConfig).Listen(ctx, "tcp", o.Dashboard); err != nil {
		log.ErrorContext(ctx, "the dashboard is not served: name another address with --dashboard", "addr", o.Dashboard, "err", err)
		return Dashboard{}, nil
	}
	return d, nil
}

// looker is the dashboard, and its way to the admin API.
type looker struct {
	m    *member
	conn *grpc.ClientConn
}

// dashboard makes the dashboard, if this member is to serve one.
func (m *member) dashboard() (*looker, error) {
	l := &looker{m: m}
	if m.Dashboard.Listener == nil {
		return l, nil
	}
	_, port, err := net.SplitHostPort(m.Dashboard.Listener.Addr().String())
	if err != nil {
		return nil, fmt.Errorf("find the dashboard's port: %w", err)
	}
	host := m.Dashboard.Host
	if host == "" {
		host, _, _ = net.SplitHostPort(m.place.API) // it has been checked
	}
	cert, err := m.browserCert(host)
	if err != nil {
		return nil, err
	}
	m.web, err = web.New(web.Config{
		Member: m.place.Name, Reached: net.JoinHostPort(host, port), Local: isLocal(host), Certificate: cert, Log: m.Log,
		As: func(id identity.ID, key identity.Fingerprint) grpc.ClientConnInterface {
			return serve.As(l.conn, id, key)
		},
	})
	return l, err
}

func (m *member) browserCert(host string) (tls.Certificate, error) {
	if m.Dashboard.Cert != "" {
		c, err := tls.LoadX509KeyPair(m.Dashboard.Cert, m.Dashboard.Key)
		if err != nil {
			return c, fmt.Errorf("%w: read the dashboard's certificate: %w", model.ErrInvalid, err)
		}
		return c, nil
	}
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if !slices.Contains(hosts, host) {
		hosts = append(hosts, host)
	}
	return web.Certificate(filepath.Join(m.Dir, "dashboard.pem"), hosts, m.Clock())
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// serve answers browsers until ctx ends.
func (l *looker) serve(ctx context.Context, server *serve.Server) (err error) {
	if l.conn, err = server.Inside(); err != nil {
		return err
	}
	defer func() { _ = l.conn.Close() }() // nobody calls any more
	l.m.web.Serve(ctx, l.m.Dashboard.Listener)
	return nil
}
