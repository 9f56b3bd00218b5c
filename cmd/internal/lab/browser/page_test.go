package browser_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"google.golang.org/grpc"

	"rvol/cmd/internal/lab/browser"
	"rvol/coordinator/serve/web"
	"rvol/coordinator/serve/web/webtest"
	"rvol/proto/identity"
)

// shown is a dashboard of a cluster, and a browser.
type shown struct {
	*browser.Browser
	server *web.Server
}

func show(t *testing.T, c *webtest.Cluster, script string) shown {
	t.Helper()
	cert, err := web.Certificate(filepath.Join(t.TempDir(), "dashboard.pem"), []string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String()) // it listens there
	conn := c.Conn(t)
	s, err := web.New(web.Config{
		Member: "c1", Reached: net.JoinHostPort("localhost", port), Certificate: cert, Log: slog.New(slog.DiscardHandler),
		As: func(identity.ID, identity.Fingerprint) grpc.ClientConnInterface { return conn },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Serve(ctx, l) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return shown{browser.Open(t, cert.Leaf, script), s}
}

// enter lets the browser in, and waits until everything is drawn.
func (s shown) enter(t *testing.T) {
	t.Helper()
	link, err := s.server.Link(identity.ID{Cluster: "prod", Role: identity.Viewer, Name: "anna"}, identity.Fingerprint{}, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	s.Visit(link.GetUrl())
	s.Until("document.documentElement.dataset.whole")
}

// open goes to a page, and waits until it is there.
func (s shown) open(page string) {
	browser.Eval[bool](s.Browser, fmt.Sprintf("(location.hash = %q, true)", page))
	s.Until(fmt.Sprintf("location.hash === %q && document.querySelector('main h1')", page))
	browser.Eval[bool](s.Browser, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

func eval(s shown, expression string) float64 { return browser.Eval[float64](s.Browser, expression) }

// reload looks at the page anew.
var reload = chromedp.Reload()
