package web

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"rvol/proto/identity"
)

// Config is what a dashboard is made of.
type Config struct {
	Member      string // the coordinator that serves it
	Reached     string // HOST:PORT under which browsers reach it
	Local       bool   // only those of its own machine do
	Certificate tls.Certificate

	// As makes connections to the admin API in somebody's name.
	As  func(identity.ID, identity.Fingerprint) grpc.ClientConnInterface
	Log *slog.Logger
}

// Limits of what a browser may do.
const (
	headerTimeout = 5 * time.Second
	answerTimeout = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	maxBody       = 4 << 10
	graceToEnd    = time.Second
)

// Server serves the dashboard.
type Server struct {
	Config
	sessions *sessions
	files    map[string]file
}

// New makes a dashboard.
func New(c Config) (*Server, error) {
	files, err := loadFiles()
	if err != nil {
		return nil, err
	}
	return &Server{Config: c, files: files, sessions: newSessions(c)}, nil
}

// Serve answers browsers on l, which it closes, until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) {
	defer s.sessions.close()
	server := &http.Server{
		Handler: s.Handler(), BaseContext: func(net.Listener) context.Context { return ctx },
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{s.Certificate}},
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(l, "", "") }()
	select {
	case err := <-ended:
		s.Log.ErrorContext(ctx, "dashboard is no longer served", "err", err)
		return
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceToEnd)
	defer cancel()
	if err := server.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
		_ = server.Close() // a browser that reads slowly is not waited for
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		s.Log.DebugContext(ctx, "dashboard ended", "err", err)
	}
}

// Handler answers browsers.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", s.static)
	mux.HandleFunc("GET /session", s.within(s.about))
	mux.HandleFunc("POST /session", s.enter)
	mux.HandleFunc("DELETE /session", s.within(s.leave))
	mux.HandleFunc("GET /stream", s.within(s.stream))
	return guarded(http.NewCrossOriginProtection().Handler(mux))
}
