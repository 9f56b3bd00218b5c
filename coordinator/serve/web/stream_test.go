package web

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	"rvol/coordinator/serve/web/webtest"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

func nobody(identity.ID, identity.Fingerprint) grpc.ClientConnInterface { return nil }

func anyCert(t *testing.T) tls.Certificate {
	t.Helper()
	c, err := Certificate(t.TempDir()+"/dashboard.pem", []string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// all reads messages until nothing more is under way.
func all(next func() heard) (rows map[string]bool, messages int, last heard) {
	rows = map[string]bool{}
	for {
		last = next()
		messages++
		for key, row := range last.Rows {
			rows[key] = string(row) != "null"
		}
		if !last.More {
			return rows, messages, last
		}
	}
}

func TestAWindowIsToldEverythingAndThenWhatChanges(t *testing.T) {
	c := webtest.Large(600)
	s := newSite(t, c)
	cookie, _ := s.enter(s.secret(time.Hour))
	next := s.listen(cookie, "")
	rows, messages, _ := all(next)
	if !rows["cluster"] || !rows["node/n1"] || !rows["lvg/n1/vg0"] || !rows["volume/vol-0599"] || len(rows) != 1+12+12+600+50 || messages < 3 {
		t.Fatalf("told %d rows in %d messages", len(rows), messages)
	}
	c.Put(webtest.Volume(7, "degraded"))
	if rows, _, m := all(next); !rows["volume/vol-0007"] || len(rows) != 1 || m.Whole {
		t.Errorf("told of %v", slices.Collect(maps.Keys(rows)))
	}
	c.Remove("vol-0008")
	if rows, _, _ := all(next); rows["volume/vol-0008"] || len(rows) != 1 {
		t.Errorf("told of %v", rows)
	}
	c.Happened(&adminv1.Event{Cause: "something"})
	if rows, _, _ := all(next); len(rows) != 1 || rank(slices.Collect(maps.Keys(rows))[0]) != 5 {
		t.Errorf("told of %v", rows)
	}
}

func TestAWindowThatComesBackIsToldWhatItMissed(t *testing.T) {
	c := webtest.Large(300)
	s := newSite(t, c)
	cookie, _ := s.enter(s.secret(time.Hour))
	next := s.listen(cookie, "")
	_, _, first := all(next)
	c.Put(webtest.Volume(7, "degraded"))
	all(next)
	c.Remove("vol-0008")
	all(next)

	rows, _, m := all(s.listen(cookie, first.id))
	if m.Whole || len(rows) != 2 || !rows["volume/vol-0007"] || rows["volume/vol-0008"] {
		t.Errorf("told of %v, from the beginning: %v", rows, m.Whole)
	}
	for _, strange := range []string{"", "nonsense", "other.7", first.id + "999999"} {
		if m := s.listen(cookie, strange)(); !m.Whole {
			t.Errorf("a window that was told %q is not told everything", strange)
		}
	}
}

func TestWhatIsForgottenIsNotSkipped(t *testing.T) {
	f := newFeed(nil, nil)
	f.apply(t.Context(), update{rows: map[string][]byte{"volume/a": []byte("1")}, whole: true})
	_, at, _, _ := f.since(cursor{})
	rows := map[string][]byte{}
	for i := range maxEvents + 10 {
		rows[fmt.Sprintf("%s%06d", prefixEvent, i)] = []byte("1")
	}
	f.apply(t.Context(), update{rows: rows})
	if told, _, whole, _ := f.since(at); !whole || len(told) != maxEvents+1 {
		t.Errorf("told of %d rows, from the beginning: %v", len(told), whole)
	}
}

func TestAWindowThatDoesNotReadHoldsNothingUp(t *testing.T) {
	c := webtest.Large(50)
	s := newSite(t, c)
	cookie, _ := s.enter(s.secret(time.Hour))
	s.listen(cookie, "") // and never reads
	next := s.listen(cookie, "")
	all(next)
	for i := range 40 {
		c.Put(webtest.Volume(i, []string{"degraded", "ready"}[i%2]))
	}
	seen := map[string]bool{}
	for !seen["volume/vol-0038"] {
		rows, _, _ := all(next)
		maps.Copy(seen, rows)
	}
	o := s.web.sessions.find(cookie.Value, time.Now())
	if n := len(o.feed.rows); n > 1+12+12+50+50 {
		t.Errorf("%d rows are kept", n)
	}
}

func TestWindowsOfASessionAreBounded(t *testing.T) {
	s := newSite(t, webtest.New())
	cookie, _ := s.enter(s.secret(time.Hour))
	for range maxWatchers {
		s.listen(cookie, "")
	}
	if answer := s.ask(http.MethodGet, "/stream", "", "Cookie", cookie.String()); answer.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one window more: %s", answer.Status)
	}
}

func TestTheCertificateIsKept(t *testing.T) {
	file, now := t.TempDir()+"/dashboard.pem", time.Now()
	first, err := Certificate(file, []string{"localhost", "192.0.2.1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Certificate(file, []string{"localhost"}, now)
	if err != nil || string(again.Certificate[0]) != string(first.Certificate[0]) {
		t.Errorf("another certificate although the host is the same: %v", err)
	}
	other, err := Certificate(file, []string{"c1.example.org"}, now)
	if err != nil || string(other.Certificate[0]) == string(first.Certificate[0]) || other.Leaf.VerifyHostname("c1.example.org") != nil {
		t.Errorf("the certificate is not for the new host: %v", err)
	}
}
