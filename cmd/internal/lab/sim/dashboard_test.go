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

// TestDashboard looks at a live cluster with a real browser, by the dashboard of a coordinator that does not lead.
func TestDashboard(t *testing.T) {
	t.Parallel()
	c, doors := withDashboard(t)
	s := NewScripted(c)
	furnish(t, s)
	must(t, s, "cluster transfer-leadership n1")
	b := browser.Open(t, shownAt(t, doors["n2"]), "")
	link := strings.TrimSpace(must(t, s, "dashboard -q --endpoint n2:7170"))
	if !strings.HasPrefix(link, "https://localhost:"+port(doors["n2"])+"/login#") {
		t.Fatalf("the link is %s", link)
	}
	b.Prefer("light", "reduce")
	b.Visit(link)
	b.Until("document.documentElement.dataset.whole")
	look(t, b, "well")
	if said := b.Complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}

	// What happens in the cluster is on the screen without anybody asking.
	open(b, "volume/db-1")
	must(t, s, "volume attach db-1 n1 --wait")
	b.Until("document.querySelector('.picture .primary')")
	if err := s.Kill("n3"); err != nil {
		t.Fatal(err)
	}
	b.Until("document.querySelector('.state').textContent.startsWith('degraded')")
	open(b, "")
	b.Until("document.querySelector('h1').textContent.includes('attention')")
	look(t, b, "degraded")

	if err := s.Start("n3"); err != nil {
		t.Fatal(err)
	}
	open(b, "")
	b.Until("document.querySelector('h1').textContent === 'All 8 volumes are well'")

	// The leader goes: this coordinator shows what the next one knows.
	if err := s.StopCoordinator("n1"); err != nil {
		t.Fatal(err)
	}
	must(t, s, "volume set web-1 --label tier=front")
	open(b, "events")
	b.Until("document.querySelector('main tbody').textContent.includes('change volume web-1')")

	// The link was good once; who signs out sees nothing any more.
	b.Complaints()
	browser.Eval[bool](b, "(document.getElementById('leave').click(), true)")
	b.Until("document.querySelector('h1').textContent === 'Your session is over'")
	b.Visit(link)
	b.Until("document.querySelector('#says').textContent.includes('has been used')")

	// Another link lets in again, in the same window.
	b.Visit(strings.TrimSpace(must(t, s, "dashboard -q")))
	b.Until("document.documentElement.dataset.whole")
}

// look takes pictures of every page, in light and dark.
func look(t *testing.T, b *browser.Browser, scene string) {
	t.Helper()
	for name, page := range map[string]string{"overview": "", "volumes": "volumes", "two": "volume/db-1", "three": "volume/web-3", "storage": "storage", "events": "events"} {
		open(b, page)
		for _, scheme := range []string{"light", "dark"} {
			b.Prefer(scheme, "reduce")
			b.Shoot(filepath.Join(t.ArtifactDir(), scene+"-"+name+"-"+scheme+".png"))
		}
		if said := append(b.Nameless(), b.Faint()...); len(said) > 0 {
			t.Errorf("%s, %s: %q", scene, name, said)
		}
	}
}

func open(b *browser.Browser, page string) {
	browser.Eval[bool](b, fmt.Sprintf("(location.hash = %q, true)", "#/"+page))
	b.Until(fmt.Sprintf("location.hash === %q && document.querySelector('main h1')", "#/"+page))
}

// withDashboard is a cluster of five nodes on DRBD 9, in real time, and where its coordinators let browsers in.
func withDashboard(t *testing.T) (*Cluster, map[string]string) {
	t.Helper()
	dir, err := tempRoot()
	if err != nil {
		t.Fatal(err)
	}
	doors := map[string]string{}
	c, err := New(Config{
		Dir: dir, Nodes: 5, Version: "test", DRBD: drbdtest.V9, GroupSize: 64 << 30, Log: logTo(t, filepath.Join(t.ArtifactDir(), "dashboard.log")),
		Dashboard: func(node string) (net.Listener, error) {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err == nil {
				doors[node] = l.Addr().String()
			}
			return l, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close() // what failed before is what counts
		_ = os.RemoveAll(dir)
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, doors
}

func furnish(t *testing.T, s *Scripted) {
	t.Helper()
	for i := range 5 {
		must(t, s, fmt.Sprintf("lvg create n%d vg0", i+1))
		must(t, s, fmt.Sprintf("lvg create n%d vg1 --thin-pool tp", i+1))
	}
	if err := s.Foreign("n4", "vg0", "images", 40<<30); err != nil {
		t.Fatal(err)
	}
	must(t, s, "class create r2 --ftt 1 --gmdr 0 --type LVM --vg vg0 --trust-zeroed")
	must(t, s, "class create r3 --ftt 1 --gmdr 1 --type LVMThin --vg vg1 --thin-pool tp")
	var names []string
	for i := range 4 {
		names = append(names, fmt.Sprintf("db-%d", i+1), fmt.Sprintf("web-%d", i+1))
		must(t, s, fmt.Sprintf("volume create db-%d --size 4GiB --class r2", i+1))
		must(t, s, fmt.Sprintf("volume create web-%d --size 10GiB --class r3", i+1))
	}
	for _, name := range names {
		waitFormed(t, s, name)
	}
}

func port(addr string) string {
	_, p, _ := net.SplitHostPort(addr) // it is a listener's
	return p
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
