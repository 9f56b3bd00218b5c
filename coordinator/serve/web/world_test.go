package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"rvol/coordinator/serve/web/webtest"
	"rvol/proto/identity"
)

// site is a dashboard of a cluster, with what it logs.
type site struct {
	*httptest.Server
	t    *testing.T
	web  *Server
	logs *bytes.Buffer
}

func newSite(t *testing.T, c *webtest.Cluster) *site {
	t.Helper()
	cert, err := Certificate(t.TempDir()+"/dashboard.pem", []string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	conn, logs := c.Conn(t), new(bytes.Buffer)
	w, err := New(Config{
		Member: "c1", Reached: "c1:7174", Certificate: cert, Log: slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		As: func(identity.ID, identity.Fingerprint) grpc.ClientConnInterface { return conn },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Server: httptest.NewTLSServer(w.Handler()), t: t, web: w, logs: logs}
	t.Cleanup(func() { s.CloseClientConnections(); w.sessions.close(); s.Close() })
	return s
}

// secret is that of a new link of somebody whose certificate is good for so long.
func (s *site) secret(life time.Duration) string {
	s.t.Helper()
	link, err := s.web.Link(identity.ID{Cluster: "prod", Role: identity.Viewer, Name: "anna"}, identity.Fingerprint{}, time.Now().Add(life))
	if err != nil {
		s.t.Fatal(err)
	}
	_, secret, _ := strings.Cut(link.GetUrl(), "#")
	return secret
}

// ask makes a request; pairs are headers.
func (s *site) ask(method, path, body string, pairs ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	answer, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = answer.Body.Close() }) // it has been read, or is not wanted
	return answer
}

// enter redeems a link, and returns the cookie.
func (s *site) enter(secret string) (*http.Cookie, int) {
	s.t.Helper()
	body, _ := json.Marshal(map[string]string{"secret": secret}) // two words
	answer := s.ask(http.MethodPost, "/session", string(body))
	if c := answer.Cookies(); len(c) == 1 {
		return c[0], answer.StatusCode
	}
	return nil, answer.StatusCode
}

// heard is one message of a stream, with its id and its kind.
type heard struct {
	message

	id, kind string
}

// listen begins a stream, and returns what it tells, one at a time.
func (s *site) listen(cookie *http.Cookie, last string) func() heard {
	s.t.Helper()
	answer := s.ask(http.MethodGet, "/stream", "", "Cookie", cookie.String(), "Last-Event-ID", last)
	if answer.StatusCode != http.StatusOK {
		s.t.Fatalf("the stream is %s", answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 64<<20)
	return func() (h heard) {
		s.t.Helper()
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				h.id = value
			case "event":
				h.kind = value
			case "data":
				if err := json.Unmarshal([]byte(value), &h.message); err != nil {
					s.t.Fatal(err)
				}
				return h
			}
		}
		s.t.Fatalf("the stream ended: %v", lines.Err())
		return h
	}
}
