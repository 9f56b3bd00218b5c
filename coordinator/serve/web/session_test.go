package web

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rvol/coordinator/serve/web/webtest"
	"rvol/proto/identity"
)

func TestALinkIsGoodOnce(t *testing.T) {
	s := newSite(t, webtest.New())
	secret := s.secret(time.Hour)
	cookie, code := s.enter(secret)
	if code != http.StatusNoContent || cookie == nil {
		t.Fatalf("the link is refused: %d", code)
	}
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.MaxAge > 3600 || !strings.HasPrefix(cookie.Name, "__Host-") {
		t.Errorf("the cookie is %s", cookie)
	}
	for _, again := range []string{secret, "", "guessed"} {
		if _, code := s.enter(again); code != http.StatusForbidden {
			t.Errorf("a link that is not good is answered by %d", code)
		}
	}
	if log := s.logs.String(); strings.Contains(log, secret) || strings.Contains(log, cookie.Value) || !strings.Contains(log, "viewer/anna") {
		t.Errorf("the log says %s", log)
	}
}

func TestNothingOfTheClusterIsShownWithoutASession(t *testing.T) {
	s := newSite(t, webtest.Large(3))
	for _, path := range []string{"/session", "/stream"} {
		for _, cookie := range []string{"", "__Host-rvol-c1=guessed", "__Host-rvol-c2=x"} {
			if answer := s.ask(http.MethodGet, path, "", "Cookie", cookie); answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("GET %s with %q: %s", path, cookie, answer.Status)
			}
		}
	}
	for path, want := range map[string]int{"/": 200, "/login": 200, "/app.js": 200, "/style.css": 200, "/web.go": 404, "/../web.go": 404, "/static/": 404} {
		if answer := s.ask(http.MethodGet, path, ""); answer.StatusCode != want {
			t.Errorf("GET %s: %s, want %d", path, answer.Status, want)
		}
	}
}

func TestAnotherSitesPageGetsNothing(t *testing.T) {
	s := newSite(t, webtest.New())
	cookie, _ := s.enter(s.secret(time.Hour))
	for _, tc := range []struct{ method, path, site string }{
		{http.MethodGet, "/session", "cross-site"},
		{http.MethodGet, "/stream", "same-site"},
		{http.MethodPost, "/session", "cross-site"},
		{http.MethodDelete, "/session", "cross-site"},
	} {
		answer := s.ask(tc.method, tc.path, "{}", "Cookie", cookie.String(), "Sec-Fetch-Site", tc.site, "Origin", "https://elsewhere.example")
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s from another site: %s", tc.method, tc.path, answer.Status)
		}
	}
	if answer := s.ask(http.MethodGet, "/session", "", "Cookie", cookie.String(), "Sec-Fetch-Site", "same-origin"); answer.StatusCode != http.StatusOK {
		t.Errorf("the page's own request: %s", answer.Status)
	}
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	s := newSite(t, webtest.New())
	for _, path := range []string{"/", "/app.js", "/nothing", "/session", "/stream"} {
		answer := s.ask(http.MethodGet, path, "")
		for name, want := range headers {
			if got := answer.Header.Get(name); got != want && name != "Cache-Control" {
				t.Errorf("GET %s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
	for _, want := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
}

func TestASessionEndsWithItsPersonsCertificate(t *testing.T) {
	c := webtest.New()
	s := newSite(t, c)
	cookie, _ := s.enter(s.secret(time.Hour))
	next := s.listen(cookie, "")
	next()
	c.Refuse(status.Error(codes.PermissionDenied, "viewer/anna: revoked"))
	if h := next(); h.kind != "over" {
		t.Errorf("the stream goes on: %+v", h)
	}
	c.Refuse(nil)
	if answer := s.ask(http.MethodGet, "/session", "", "Cookie", cookie.String()); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the session goes on: %s", answer.Status)
	}
}

func TestWhoSignsOutIsOut(t *testing.T) {
	s := newSite(t, webtest.New())
	cookie, _ := s.enter(s.secret(time.Hour))
	next := s.listen(cookie, "")
	next()
	if answer := s.ask(http.MethodDelete, "/session", "", "Cookie", cookie.String()); answer.StatusCode != http.StatusNoContent {
		t.Fatalf("sign out: %s", answer.Status)
	}
	if h := next(); h.kind != "over" {
		t.Errorf("the stream goes on: %+v", h)
	}
	if answer := s.ask(http.MethodGet, "/stream", "", "Cookie", cookie.String()); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the session goes on: %s", answer.Status)
	}
}

func TestLinksAndSessionsLapse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Server{Config: Config{Certificate: anyCert(t)}, sessions: newSessions(Config{As: nobody})}
		text := func(life time.Duration) string {
			link, err := w.Link(identity.ID{Role: identity.Viewer, Name: "anna"}, identity.Fingerprint{}, time.Now().Add(life))
			if err != nil {
				t.Fatal(err)
			}
			_, secret, _ := strings.Cut(link.GetUrl(), "#")
			return secret
		}
		old := text(time.Hour)
		time.Sleep(linkLife + time.Second)
		if _, _, ok := w.sessions.redeem(old, time.Now()); ok {
			t.Error("a link is good for longer than it says")
		}
		for life, want := range map[time.Duration]time.Duration{time.Hour: time.Hour, 365 * 24 * time.Hour: sessionLife} {
			cookie, _, ok := w.sessions.redeem(text(life), time.Now())
			if !ok {
				t.Fatal("a new link is refused")
			}
			time.Sleep(want - time.Second)
			if w.sessions.find(cookie, time.Now()) == nil {
				t.Errorf("with a certificate for %s the session ends before %s", life, want)
			}
			time.Sleep(2 * time.Second)
			if w.sessions.find(cookie, time.Now()) != nil {
				t.Errorf("with a certificate for %s the session is longer than %s", life, want)
			}
		}
	})
}

func TestLinksAndSessionsAreBounded(t *testing.T) {
	w := &Server{Config: Config{Certificate: anyCert(t)}, sessions: newSessions(Config{As: nobody})}
	id, until := identity.ID{Role: identity.Viewer, Name: "anna"}, time.Now().Add(time.Hour)
	for range maxLinks {
		if _, err := w.Link(id, identity.Fingerprint{}, until); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Link(id, identity.Fingerprint{}, until); err == nil {
		t.Error("links are made without bound")
	}
	clear(w.sessions.links)
	for range maxSessions + 5 {
		link, err := w.Link(id, identity.Fingerprint{}, until)
		if err != nil {
			t.Fatal(err)
		}
		_, secret, _ := strings.Cut(link.GetUrl(), "#")
		w.sessions.redeem(secret, time.Now())
	}
	if n := len(w.sessions.open); n != maxSessions {
		t.Errorf("%d sessions, want %d", n, maxSessions)
	}
}
