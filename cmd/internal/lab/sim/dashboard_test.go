package sim

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rvol/cmd/internal/lab/browser"
	"rvol/drbd/drbdtest"
)

// TestDashboard looks at a live cluster with a real browser.
func TestDashboard(t *testing.T) {
	dir, err := tempRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // memory of this test
	var door net.Listener
	c, err := New(Config{
		Dir: dir, Nodes: 5, Version: "test", DRBD: drbdtest.V9, GroupSize: 64 << 30, Log: logTo(t, filepath.Join(t.ArtifactDir(), "dashboard.log")),
		Dashboard: func(node string) (net.Listener, error) {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if node == "n1" {
				door = l
			}
			return l, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // what failed before is what counts
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := NewScripted(c)
	b := browser.Open(t, shownAt(t, door.Addr().String()), "")
	furnish(t, s)
	b.Visit(strings.TrimSpace(must(t, s, "dashboard -q")))
	b.Until("document.documentElement.dataset.whole")
	for _, page := range []string{"", "volumes", "volume/db-1", "volume/web-3", "storage", "events"} {
		browser.Eval[string](b, "location.hash = '#/"+page+"'")
		b.Until("document.querySelector('h1')")
		for _, scheme := range []string{"light", "dark"} {
			b.Prefer(scheme, "reduce")
			b.Shoot(filepath.Join(t.ArtifactDir(), strings.ReplaceAll("page-"+page, "/", "-")+"-"+scheme+".png"))
		}
	}
	t.Log(b.Complaints())
}

func furnish(t *testing.T, s *Scripted) {
	t.Helper()
	for i := range 5 {
		must(t, s, fmt.Sprintf("lvg create n%d vg0", i+1))
		must(t, s, fmt.Sprintf("lvg create n%d vg1 --thin-pool tp", i+1))
	}
	must(t, s, "class create r2 --ftt 1 --gmdr 0 --type LVM --vg vg0 --trust-zeroed")
	must(t, s, "class create r3 --ftt 1 --gmdr 1 --type LVMThin --vg vg1 --thin-pool tp")
	for i := range 4 {
		must(t, s, fmt.Sprintf("volume create db-%d --size 256MiB --class r2", i+1))
		must(t, s, fmt.Sprintf("volume create web-%d --size 1GiB --class r3", i+1))
	}
	for i := range 4 {
		waitFormed(t, s, fmt.Sprintf("db-%d", i+1))
		waitFormed(t, s, fmt.Sprintf("web-%d", i+1))
	}
}

// shownAt is the certificate that browsers are shown.
func shownAt(t *testing.T, addr string) *x509.Certificate {
	t.Helper()
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", addr) // it is what is asked for
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // it has told
	secure, _ := conn.(*tls.Conn)
	return secure.ConnectionState().PeerCertificates[0]
}
