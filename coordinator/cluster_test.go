package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/clientconfig"
	"rvol/proto/identity"
)

// network is addresses in memory.
type network struct {
	mu        sync.Mutex
	listeners map[string]*bufconn.Listener
}

func newNetwork() *network { return &network{listeners: map[string]*bufconn.Listener{}} }

func (n *network) listen(addr string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := bufconn.Listen(1 << 20)
	n.listeners[addr] = l
	return l
}

func (n *network) dial(ctx context.Context, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("dial %s: connection refused", addr)
	}
	return l.DialContext(ctx)
}

// cluster is some coordinators in one bubble.
type cluster struct {
	t       *testing.T
	dir     string
	net     *network
	running map[string]*process
	version string // of the coordinators that are started from now on

	removeDead time.Duration // likewise
}

type process struct {
	stop context.CancelFunc
	done chan error
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), net: newNetwork(), running: map[string]*process{}, version: "test"}
	t.Cleanup(func() {
		for name := range c.running {
			c.stop(name)
		}
	})
	if err := Init(InitConfig{
		Dir: c.at("c1"), Cluster: "test", Name: "c1", API: "c1:7170", Raft: "c1:7171", AdminConfig: c.adminConfig(), Version: "test",
	}); err != nil {
		t.Fatal(err)
	}
	c.start("c1")
	return c
}

func (c *cluster) at(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) adminConfig() string { return filepath.Join(c.dir, "admin.yaml") }

// start runs a coordinator on what it has on disk.
func (c *cluster) start(name string) {
	c.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	p := &process{stop: stop, done: make(chan error, 1)}
	config := Config{
		Dir: c.at(name), API: c.net.listen(name + ":7170"), Raft: c.net.listen(name + ":7171"), Dial: c.net.dial,
		Version: c.version, RemoveDead: c.removeDead, Log: slog.New(slog.DiscardHandler),
	}
	go func() { p.done <- Run(ctx, config) }()
	c.running[name] = p
}

// stop ends a coordinator and takes its addresses off the network.
func (c *cluster) stop(name string) {
	c.t.Helper()
	p := c.running[name]
	delete(c.running, name)
	c.net.mu.Lock()
	for _, port := range []string{":7170", ":7171"} {
		_ = c.net.listeners[name+port].Close() // closing memory cannot fail
		delete(c.net.listeners, name+port)
	}
	c.net.mu.Unlock()
	p.stop()
	if err := <-p.done; err != nil {
		c.t.Logf("%s ended, as its listeners were taken away: %v", name, err)
	}
}

// api is a client of one coordinator as the first admin.
func (c *cluster) api(name string) *grpc.ClientConn {
	c.t.Helper()
	config, err := clientconfig.Load(c.adminConfig())
	if err != nil {
		c.t.Fatal(err)
	}
	creds, err := config.Credentials()
	if err != nil {
		c.t.Fatal(err)
	}
	conn, err := dialAPI(name+":7170", c.net.dial, identity.ClientTLS(identity.NewSource(creds), identity.Peers{Allow: identity.AllowRoles(identity.Server)}))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() }) // the test is over
	return conn
}

// status asks one coordinator, which answers for itself when stale.
func (c *cluster) status(name string, stale bool) (*adminv1.ClusterStatus, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn := c.api(name)
	defer func() { _ = conn.Close() }() // asked once
	return adminv1.NewClusterClient(conn).Status(ctx, &adminv1.ClusterStatusRequest{Stale: stale})
}

// until waits, in the bubble's time, for something to be so.
func (c *cluster) until(what string, so func() bool) {
	c.t.Helper()
	for range 1200 {
		if so() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.t.Fatalf("%s: not so after 2 min", what)
}

// join adds a coordinator.
func (c *cluster) join(name string) {
	c.t.Helper()
	c.joinBy("c1", name)
}

// joinBy adds a coordinator with a token of another.
func (c *cluster) joinBy(by, name string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	token, err := adminv1.NewTokensClient(c.api(by)).Create(ctx, &adminv1.CreateTokenRequest{Kind: "coordinator", Subject: name})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := Join(ctx, JoinConfig{
		Dir: c.at(name), Token: token.GetText(), Coordinators: []string{by + ":7170"}, Name: name,
		API: name + ":7170", Raft: name + ":7171", Dial: c.net.dial, Version: "test",
	}); err != nil {
		c.t.Fatal(err)
	}
	c.start(name)
}

func (c *cluster) voters() int {
	s, err := c.status("c1", false)
	n := 0
	for _, m := range s.GetMembers() {
		if err == nil && m.GetVoter() {
			n++
		}
	}
	return n
}

// three is a cluster of three voters.
func three(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	c.until("c1 leads", func() bool { s, err := c.status("c1", false); return err == nil && s.GetId() == "test" })
	c.join("c2")
	c.join("c3")
	c.until("three voters", func() bool { return c.voters() == 3 })
	return c
}

func pool(name string) *adminv1.Pool {
	return &adminv1.Pool{Meta: &adminv1.Meta{Name: name}, Storage: &adminv1.Storage{Type: "LVM", Vgs: []string{"vg0"}}}
}

// poolsVia lists pools by one coordinator, with the headers of the answer.
func (c *cluster) poolsVia(name string) ([]*adminv1.Pool, metadata.MD, error) {
	var head metadata.MD
	list, err := adminv1.NewPoolsClient(c.api(name)).List(c.t.Context(), &adminv1.ListRequest{}, grpc.Header(&head))
	return list.GetPools(), head, err
}

func TestWithoutAMajorityReadsAreStaleAndWritesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t)
		if _, err := adminv1.NewPoolsClient(c.api("c1")).Create(t.Context(), pool("p1")); err != nil {
			t.Fatal(err)
		}
		_, head, err := c.poolsVia("c2")
		if err != nil || head.Get("rvol-index") == nil || head.Get("rvol-stale") != nil {
			t.Fatalf("a read by a follower: headers %v, error %v, want an index and nothing stale", head, err)
		}
		c.stop("c2")
		c.stop("c3")
		list, head, err := c.poolsVia("c1")
		if err != nil || len(list) != 1 {
			t.Fatalf("a read without a majority: %v, %v, want the pool", list, err)
		}
		if stale := head.Get("rvol-stale"); len(stale) != 1 || !strings.HasPrefix(stale[0], "no leader since ") {
			t.Errorf("stale header %q, want since when there is no leader", stale)
		}
		_, err = adminv1.NewPoolsClient(c.api("c1")).Create(t.Context(), pool("p2"))
		if s := status.Convert(err); s.Code() != codes.Unavailable || !strings.Contains(s.Message(), "no majority") {
			t.Errorf("a write without a majority: %v, want Unavailable and the reason", err)
		}
		own, err := c.status("c1", true)
		if err != nil || own.GetLeader() != "" || own.GetAnsweredBy() != "c1" {
			t.Errorf("status %v, %v, want no leader, answered by c1", own, err)
		}
	})
}

func TestAMemberThatIsRemovedIsKnownNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t)
		if _, err := adminv1.NewClusterClient(c.api("c1")).RemoveMember(t.Context(), &adminv1.DeleteRequest{Name: "c3", Confirm: "c3"}); err != nil {
			t.Fatal(err)
		}
		c.until("two members", func() bool { s, err := c.status("c2", false); return err == nil && len(s.GetMembers()) == 2 })
		_, err := adminv1.NewPoolsClient(c.api("c3")).Create(t.Context(), pool("p1"))
		if status.Code(err) == codes.OK {
			t.Error("a write by a member that was removed was taken")
		}
	})
}

func TestCertificatesRenewByThemselves(t *testing.T) {
	for what, days := range map[string]int{"when a third of their life is over": 31, "when all have lapsed": 100} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := three(t)
				names := []string{"c1", "c2", "c3"}
				for _, name := range names {
					c.stop(name)
				}
				time.Sleep(time.Duration(days) * 24 * time.Hour)
				for _, name := range names {
					c.start(name)
				}
				c.until("all are renewed", func() bool {
					for _, name := range names {
						own, err := identityDir(c.at(name)).Load()
						if err != nil || time.Since(identity.IssuedAt(own.Certificate())) > time.Hour {
							return false
						}
					}
					return true
				})
				if _, err := adminv1.NewPoolsClient(c.api("c2")).Create(t.Context(), pool("p1")); err != nil {
					t.Errorf("a write with renewed certificates: %v", err)
				}
			})
		})
	}
}

func TestAnUpgradedMemberSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t)
		c.version = "newer"
		c.stop("c2")
		c.start("c2")
		c.until("c2 is known to be newer", func() bool {
			s, err := c.status("c1", false)
			return err == nil && s.GetMembers()[1].GetVersion() == "newer" && s.GetMembers()[0].GetVersion() == "test"
		})
	})
}

func TestAMemberThatWasAwayTakesALeaderItHasNeverHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t)
		c.stop("c3")
		time.Sleep(10 * time.Minute)
		c.join("c4")
		c.until("four voters", func() bool { return c.voters() == 4 })
		if _, err := adminv1.NewClusterClient(c.api("c1")).TransferLeadership(t.Context(), &adminv1.TransferLeadershipRequest{To: "c4"}); err != nil {
			t.Fatal(err)
		}
		c.until("c4 leads", func() bool { s, err := c.status("c1", false); return err == nil && s.GetLeader() == "c4" })
		c.start("c3")
		c.until("c3 follows c4", func() bool {
			a, errA := c.status("c3", true)
			b, errB := c.status("c4", true)
			return errA == nil && errB == nil && a.GetLeader() == "c4" && a.GetStateHash() == b.GetStateHash()
		})
	})
}

func TestWritesGoOnWhenTheLeaderEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := three(t)
		if _, err := adminv1.NewPoolsClient(c.api("c2")).Create(t.Context(), pool("by-follower")); err != nil {
			t.Fatalf("a write by a follower: %v", err)
		}
		c.stop("c1")
		var made *adminv1.Pool
		c.until("a write without c1", func() bool {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "rvol-request-id", "one")
			var err error
			made, err = adminv1.NewPoolsClient(c.api("c3")).Create(ctx, pool("after"))
			return err == nil
		})
		if made.GetMeta().GetUid() == "" {
			t.Error("the new pool has no uid")
		}
		list, err := adminv1.NewPoolsClient(c.api("c2")).List(t.Context(), &adminv1.ListRequest{})
		if err != nil || len(list.GetPools()) != 2 {
			t.Errorf("pools after the failover: %v, %v, want two", list.GetPools(), err)
		}
		c.start("c1")
		c.until("c1 has caught up", func() bool {
			a, errA := c.status("c1", true)
			b, errB := c.status("c2", true)
			return errA == nil && errB == nil && a.GetAppliedIndex() == b.GetAppliedIndex() && a.GetStateHash() == b.GetStateHash()
		})
	})
}
