package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"golang.org/x/net/netutil"
)

// Config is what is shown.
type Config struct {
	Metrics prometheus.Gatherer             // nil: none are shown
	Live    func(ctx context.Context) error // why the process should be started anew; nil: it works
	Ready   func(ctx context.Context) error // why it cannot do its work now; nil: it can
	Log     *slog.Logger
}

// Limits of what a watcher may do.
const (
	connections   = 64 // at a time: who holds more keeps the daemon itself from nothing
	scrapes       = 2  // at a time
	scrapeTimeout = 30 * time.Second
	probeTimeout  = 2 * time.Second
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10 // bytes
	graceToEnd    = time.Second
)

// Listen opens the door at addr; - and the empty address are none. An address that is taken is no
// reason not to work: it is told, and there is no door.
func Listen(ctx context.Context, addr string, log *slog.Logger) (net.Listener, error) {
	if addr == "" || addr == "-" {
		return nil, nil
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("--metrics %q: want HOST:PORT, or - for none: %w", addr, err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		log.ErrorContext(ctx, "metrics and health are not served: name another address with --metrics", "addr", addr, "err", err)
		return nil, nil
	}
	return l, nil
}

// Serve answers on l, which it closes, until ctx ends.
func Serve(ctx context.Context, l net.Listener, c Config) {
	s := &http.Server{
		Handler: Handler(c), BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: scrapeTimeout + headerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(netutil.LimitListener(l, connections)) }()
	select {
	case err := <-ended:
		c.Log.ErrorContext(ctx, "metrics and health are no longer served", "err", err)
		return
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceToEnd)
	defer cancel()
	if err := s.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
		_ = s.Close() // a watcher that reads slowly is not waited for
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		c.Log.DebugContext(ctx, "metrics and health ended", "err", err)
	}
}

// Handler answers /metrics, /livez and /readyz.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	if c.Metrics != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(c.Metrics, promhttp.HandlerOpts{
			ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
			MaxRequestsInFlight: scrapes, Timeout: scrapeTimeout,
		}))
	}
	mux.HandleFunc("GET /livez", health(c.Live))
	mux.HandleFunc("GET /readyz", health(c.Ready))
	return mux
}

func health(check func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
		defer cancel()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		text := "ok"
		if err := check(ctx); err != nil {
			text = err.Error()
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = fmt.Fprintln(w, text) // who asked may have gone
	}
}

// Text is what a scrape would read now.
func Text(g prometheus.Gatherer) ([]byte, error) {
	families, err := g.Gather()
	var b bytes.Buffer
	e := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		err = errors.Join(err, e.Encode(f))
	}
	return b.Bytes(), err
}
