package serve

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	adminv1 "rvol/proto/admin/v1"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

func named(name string) *adminv1.Pool { return &adminv1.Pool{Meta: &adminv1.Meta{Name: name}} }

// bubble runs a test on virtual time with two coordinators, of which c1 leads.
func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("c1")
		w.serve("c2")
		w.lead("c1")
		test(w)
	})
}

func code(t *testing.T, err error, want codes.Code, says string) {
	t.Helper()
	if s := status.Convert(err); s.Code() != want || !strings.Contains(s.Message(), says) {
		t.Errorf("got %v, want %s with %q", err, want, says)
	}
}

func TestRolesAreHeldAtTheDoor(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		viewer := adminv1.NewPoolsClient(w.connect("c1", w.person(identity.Viewer)))
		if _, err := viewer.List(t.Context(), &adminv1.ListRequest{}); err != nil {
			t.Errorf("a viewer may not look: %v", err)
		}
		_, err := viewer.Create(t.Context(), named("p"))
		code(t, err, codes.PermissionDenied, "viewer/anna may not call")
		_, err = adminv1.NewPoolsClient(w.connect("c1", w.person(identity.Operator))).Delete(t.Context(), &adminv1.DeleteRequest{Name: "p"})
		code(t, err, codes.PermissionDenied, "for admins")
		_, err = adminv1.NewPoolsClient(w.connect("c1", w.source(identity.Agent, "n1", time.Now()))).List(t.Context(), &adminv1.ListRequest{})
		code(t, err, codes.PermissionDenied, "agent/n1")
		stranger := w.connect("c1", nil)
		_, err = adminv1.NewPoolsClient(stranger).List(t.Context(), &adminv1.ListRequest{})
		code(t, err, codes.PermissionDenied, "stranger")
		_, err = agentv1.NewAgentsClient(stranger).Join(t.Context(), &agentv1.JoinRequest{})
		code(t, err, codes.Unimplemented, "") // let through to the service
	})
}

func TestAFollowerHandsCallsOnInTheCallersName(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		var head metadata.MD
		ctx := metadata.AppendToOutgoingContext(t.Context(), door.HeaderRequestID, "r-1")
		anna := adminv1.NewPoolsClient(w.connect("c2", w.person(identity.Admin)))
		made, err := anna.Create(ctx, named("p"), grpc.Header(&head))
		if err != nil || made.GetMeta().GetName() != "p" {
			t.Fatalf("got %v, %v, want the pool", made, err)
		}
		if head.Get(door.HeaderIndex) == nil {
			t.Errorf("headers %v: the leader's index is missing", head)
		}
		got := w.servers["c1"].service.last()
		if got.Actor() != "admin/anna" || got.RequestID != "r-1" || got.RequestHash == "" || (got.Key == identity.Fingerprint{}) {
			t.Errorf("the leader was called by %+v", got)
		}
		if _, err := anna.List(ctx, &adminv1.ListRequest{}); err != nil || w.servers["c2"].service.last() != (door.Caller{}) {
			t.Errorf("a read was answered by the follower, or not at all: %v", err)
		}
		_, err = anna.Create(ctx, named("there"))
		code(t, err, codes.AlreadyExists, "pool there: exists already")
		if d := status.Convert(err).Details(); len(d) != 1 || d[0].(*adminv1.Refusal).GetNext() != "look at it" {
			t.Errorf("details %v: the next step is lost on the way", d)
		}
	})
}

func TestNobodyButACoordinatorMaySpeakForOthers(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		ctx := metadata.AppendToOutgoingContext(t.Context(), headerCaller, "spiffe://test/admin/root", headerCallerKey, strings.Repeat("00", 32))
		_, err := adminv1.NewPoolsClient(w.connect("c1", w.person(identity.Viewer))).Create(ctx, named("p"))
		code(t, err, codes.PermissionDenied, "viewer/anna")
	})
}

func TestAStaleReadIsAnsweredByWhoIsAsked(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		var head metadata.MD
		_, err := adminv1.NewPoolsClient(w.connect("c2", w.person(identity.Viewer))).List(t.Context(), &adminv1.ListRequest{Stale: true}, grpc.Header(&head))
		if err != nil || len(head.Get(door.HeaderStale)) != 1 || w.servers["c2"].service.last().Actor() != "viewer/anna" {
			t.Errorf("headers %v, error %v, want an answer of c2 that says it is stale", head, err)
		}
	})
}

func TestWithoutALeader(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		for _, s := range w.servers {
			s.cluster.set(door.Leadership{})
		}
		var head metadata.MD
		c := adminv1.NewPoolsClient(w.connect("c2", w.person(identity.Admin)))
		_, err := c.List(t.Context(), &adminv1.ListRequest{}, grpc.Header(&head))
		if stale := head.Get(door.HeaderStale); err != nil || len(stale) != 1 || !strings.HasPrefix(stale[0], "no leader since") {
			t.Errorf("headers %v, error %v, want a stale answer", head, err)
		}
		_, err = c.Create(t.Context(), named("p"))
		code(t, err, codes.Unavailable, "no leader")
		go func() {
			time.Sleep(time.Second)
			w.lead("c1")
		}()
		if _, err = c.Create(t.Context(), named("p")); err != nil {
			t.Errorf("a write during an election did not wait for its end: %v", err)
		}
	})
}

// A connection to a leader that is cut off takes its time to close.
func TestNobodyWaitsForTheConnectionToAFormerLeader(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		cut := false
		f := newForwarder(Config{
			Out: identity.ClientTLS(w.source(identity.Server, "c3", time.Now()), identity.Peers{Allow: identity.AllowRoles(identity.Server), Known: w.known}),
			Dial: func(ctx context.Context, addr string) (net.Conn, error) {
				conn, err := w.dial(ctx, addr)
				return &cuttable{Conn: conn, cut: &cut, closed: make(chan struct{})}, err
			},
		})
		defer f.close()
		conn, err := f.connect(door.Leadership{Leader: "c1", Addr: "c1"})
		if err != nil {
			t.Fatal(err)
		}
		conn.Connect()
		synctest.Wait()
		if got := conn.GetState(); got != connectivity.Ready {
			t.Fatalf("the connection is %s", got)
		}
		cut = true
		begun := time.Now()
		if _, err := f.connect(door.Leadership{Leader: "c2", Addr: "c2"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("who calls the new leader waited %s for the former one", took)
		}
	})
}

// cuttable is a connection whose writes stall once it is cut.
type cuttable struct {
	net.Conn
	cut    *bool
	once   sync.Once
	closed chan struct{}
}

func (c *cuttable) Write(b []byte) (int, error) {
	if *c.cut {
		<-c.closed
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func (c *cuttable) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func TestALeaderThatIsNoneAsksAgain(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.servers["c1"].cluster.read = &model.NotLeaderError{}
		go func() {
			time.Sleep(time.Second)
			w.lead("c2")
		}()
		if _, err := adminv1.NewPoolsClient(w.connect("c1", w.person(identity.Viewer))).List(t.Context(), &adminv1.ListRequest{}); err != nil {
			t.Fatal(err)
		}
		if got := w.servers["c2"].service.last().Actor(); got != "viewer/anna" {
			t.Errorf("the new leader was called by %q", got)
		}
	})
}

func TestACallIsHandedOnOnlyOnce(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.servers["c1"].cluster.set(door.Leadership{Leader: "c2", Addr: "c2"}) // each thinks that the other leads
		w.servers["c2"].cluster.set(door.Leadership{Leader: "c1", Addr: "c1"})
		_, err := adminv1.NewPoolsClient(w.connect("c2", w.person(identity.Admin))).Create(t.Context(), named("p"))
		code(t, err, codes.Unavailable, "not the leader")
	})
}

func TestACallThatOutlivesItsLeaderHasAnUnknownOutcome(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.servers["c1"].service.block = true
		go func() {
			time.Sleep(time.Second)
			w.servers["c2"].cluster.set(door.Leadership{})
		}()
		_, err := adminv1.NewPoolsClient(w.connect("c2", w.person(identity.Admin))).Create(t.Context(), named("p"))
		code(t, err, codes.Unavailable, "outcome unknown")
	})
}

func TestALeaderThatDoesNotAnswerIsNamed(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.servers["c2"].cluster.set(door.Leadership{Leader: "c9", Addr: "c9:7170"})
		_, err := adminv1.NewPoolsClient(w.connect("c2", w.person(identity.Admin))).Create(t.Context(), named("p"))
		code(t, err, codes.Unavailable, "the leader c9 at c9:7170 does not answer")
	})
}

func TestStreamsEndWithTheirLeader(t *testing.T) {
	for _, asked := range []string{"c1", "c2"} {
		t.Run("asked of "+asked, func(t *testing.T) {
			bubble(t, func(w *world) {
				t := w.t
				stream, err := adminv1.NewEventsClient(w.connect(asked, w.person(identity.Viewer))).Changes(t.Context(), &adminv1.ChangesRequest{})
				if err != nil {
					t.Fatal(err)
				}
				if c, err := stream.Recv(); err != nil || c.GetName() != "p" {
					t.Fatalf("got %v, %v, want the change", c, err)
				}
				if got := w.servers["c1"].service.last().Actor(); got != "viewer/anna" {
					t.Errorf("the leader was called by %q", got)
				}
				for _, s := range w.servers {
					s.cluster.set(door.Leadership{})
				}
				_, err = stream.Recv()
				code(t, err, codes.Unavailable, "no leader")
			})
		})
	}
}

func TestWhatBreaksInsideIsNotTold(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		c := adminv1.NewPoolsClient(w.connect("c1", w.person(identity.Admin)))
		for _, name := range []string{"panic", "broken"} {
			_, err := c.Create(t.Context(), named(name))
			code(t, err, codes.Internal, "log")
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: the client was told %v", name, err)
			}
		}
		if _, err := c.List(t.Context(), &adminv1.ListRequest{}); err != nil {
			t.Errorf("after a panic: %v", err)
		}
	})
}

func TestCertificatesAreCheckedAtEveryCall(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		agent := agentv1.NewAgentsClient(w.connect("c1", w.source(identity.Agent, "n1", time.Now())))
		_, err := agent.Renew(t.Context(), &agentv1.RenewRequest{})
		code(t, err, codes.Unimplemented, "")
		w.revoke("n1")
		_, err = agent.Renew(t.Context(), &agentv1.RenewRequest{})
		code(t, err, codes.PermissionDenied, "revoked")

		anna := adminv1.NewPoolsClient(w.connect("c1", w.person(identity.Viewer)))
		for range 3 {
			if _, err := anna.List(t.Context(), &adminv1.ListRequest{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(21 * time.Minute) // the connection outlives the certificate
		}
		_, err = anna.List(t.Context(), &adminv1.ListRequest{})
		code(t, err, codes.Unauthenticated, "lapsed")
	})
}

func TestALapsedAgentMayRenewAndNothingElse(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		old := w.source(identity.Agent, "n1", time.Now())
		time.Sleep(100 * 24 * time.Hour)
		w.serve("c3") // with a certificate of today, which the agent checks
		w.servers["c3"].cluster.set(door.Leadership{Leading: true, Leader: "c3", Addr: "c3"})
		agent := agentv1.NewAgentsClient(w.connect("c3", old))
		_, err := agent.Renew(t.Context(), &agentv1.RenewRequest{})
		code(t, err, codes.Unimplemented, "")
		stream, err := agent.Session(t.Context())
		if err == nil {
			_, err = stream.Recv()
		}
		code(t, err, codes.Unauthenticated, "lapsed")
	})
}

func TestLongRequestIDsAreRefused(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		ctx := metadata.AppendToOutgoingContext(t.Context(), door.HeaderRequestID, strings.Repeat("x", maxRequestID+1))
		_, err := adminv1.NewPoolsClient(w.connect("c1", w.person(identity.Admin))).Create(ctx, named("p"))
		code(t, err, codes.InvalidArgument, "request id")
	})
}

func TestWhoAsksTooMuchIsToldWhenToComeAgain(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		loud := adminv1.NewPoolsClient(w.connect("c2", w.person(identity.Operator))) // which hands on to c1
		var err error
		for range 1001 { // the bucket holds 1000, and no time passes
			if _, err = loud.List(t.Context(), &adminv1.ListRequest{}); err != nil {
				break
			}
		}
		code(t, err, codes.ResourceExhausted, "more than 500 calls a second")
		var after time.Duration
		for _, d := range status.Convert(err).Details() {
			if r, ok := d.(*adminv1.Refusal); ok {
				after = r.GetRetryAfter().AsDuration()
			}
		}
		if after <= 0 || after > 2*time.Millisecond {
			t.Errorf("it is told to come again after %s, want 2ms at most", after)
		}
		if _, err := adminv1.NewPoolsClient(w.connect("c1", w.person(identity.Viewer))).List(t.Context(), &adminv1.ListRequest{}); err != nil {
			t.Errorf("another client: %v", err)
		}
		time.Sleep(after)
		if _, err := loud.List(t.Context(), &adminv1.ListRequest{}); err != nil {
			t.Errorf("after that time: %v", err)
		}
	})
}
