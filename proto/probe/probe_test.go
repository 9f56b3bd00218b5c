package probe

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestHealthIsAnsweredWithTheReason(t *testing.T) {
	ok := func(context.Context) error { return nil }
	h := Handler(Config{
		Metrics: NewRegistry("agent", "v1\xff"), Live: ok, Log: quiet(),
		Ready: func(context.Context) error { return errors.New("no leader") },
	})
	for _, tc := range []struct {
		method, path string
		code         int
		says         string
	}{
		{"GET", "/livez", http.StatusOK, "ok\n"},
		{"GET", "/readyz", http.StatusServiceUnavailable, "no leader\n"},
		{"GET", "/metrics", http.StatusOK, `rvol_build_info{program="agent",version="v1?"} 1`},
		{"POST", "/metrics", http.StatusMethodNotAllowed, ""},
		{"GET", "/debug/pprof/", http.StatusNotFound, ""},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil))
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.says) {
			t.Errorf("%s %s: %d %q, want %d %q", tc.method, tc.path, w.Code, w.Body.String(), tc.code, tc.says)
		}
	}
}

func TestAHangingProcessIsFoundOutByOneCallOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back, calls := make(chan struct{}), atomic.Int64{}
		check := Within(func() { calls.Add(1); <-back })
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := check(ctx); !errors.Is(err, ErrHangs) {
				t.Errorf("got %v", err)
			}
			cancel()
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("%d calls wait", n)
		}
		close(back)
		synctest.Wait()
		if err := check(t.Context()); err != nil {
			t.Errorf("it goes on, and is not believed: %v", err)
		}
	})
}

func TestTheDoorOpensWhereItCan(t *testing.T) {
	for _, none := range []string{"", "-"} {
		if l, err := Listen(t.Context(), none, quiet()); l != nil || err != nil {
			t.Errorf("%q: %v, %v", none, l, err)
		}
	}
	if _, err := Listen(t.Context(), "localhost", quiet()); err == nil || !strings.Contains(err.Error(), "--metrics") {
		t.Errorf("an address without a port: %v", err)
	}
	first, err := Listen(t.Context(), "localhost:0", quiet())
	if err != nil {
		t.Fatal(err)
	}
	if l, err := Listen(t.Context(), first.Addr().String(), quiet()); l != nil || err != nil {
		t.Errorf("an address that is taken must not stop a daemon: %v, %v", l, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Serve(ctx, first, Config{Metrics: NewRegistry("agent", "v1"), Live: Within(func() {}), Ready: Within(func() {}), Log: quiet()})
	}()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+first.Addr().String()+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(answer.Body); string(text) != "ok\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	_ = answer.Body.Close() // it was read
	stop()
	<-ended
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", first.Addr().String()); err == nil {
		t.Error("the door is still open")
	}
}
