package agents

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/collect"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	"rvol/coordinator/state/statetest"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// world is the agents' door of one leader, over a store without Raft, in a bubble. Who
// calls is said in the metadata: what serve makes of certificates is not of interest here.
type world struct {
	t      *testing.T
	ca     *identity.CA
	sealed identity.SealingKey
	store  *state.Store
	inv    *inventory.Inventory
	client agentv1.AgentsClient
	front  *front // the admin API

	mu      sync.Mutex
	refuses error // of every proposal
	now     door.Leadership
	changed chan struct{}
}

const testCaller = "test-caller"

func newWorld(t *testing.T) *world {
	t.Helper()
	ca, err := identity.NewCA("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ca: ca, sealed: identity.NewSealingKey(), store: state.NewStore(state.Options{}), inv: inventory.New(), front: &front{}, changed: make(chan struct{})}
	w.now = door.Leadership{Leading: true, Leader: "c1", Addr: "c1:7170", Changed: w.changed}
	sealed, err := ca.Seal(w.sealed)
	if err != nil {
		t.Fatal(err)
	}
	c := &model.Cluster{ID: "test", Incarnation: 7, Format: 1, CA: string(identity.EncodeCertificates(ca.Certificate())), CAKey: sealed}
	c.Name = model.ClusterName
	m := &model.Member{APIAddr: "c1:7170", RaftAddr: "c1:7171"}
	m.Name = "c1"
	w.put(c, m)
	w.serve()
	return w
}

func (w *world) serve() {
	l := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		return h(called(ctx), req)
	}), grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		return h(srv, &calledStream{s, called(s.Context())})
	}))
	Service(Config{
		Name: "c1", Store: w.store, Inventory: w.inv, Proposer: w, Collects: collect.NewBroker(), Office: enroll.Office{Sealing: w.sealed},
		Leadership: w.leadership, Volumes: w.front, Heartbeat: 5 * time.Second, Log: slog.New(slog.DiscardHandler),
	})(server)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///c1", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		w.t.Fatal(err)
	}
	w.client = agentv1.NewAgentsClient(conn)
	w.t.Cleanup(func() {
		_ = conn.Close() // the test is over
		server.Stop()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
}

type calledStream struct {
	grpc.ServerStream
	ctx context.Context // it replaces the one that the stream contains
}

func (s *calledStream) Context() context.Context { return s.ctx }

// called is what package serve does for a call by an agent, whose key is its name.
func called(ctx context.Context) context.Context {
	md, _ := metadata.FromIncomingContext(ctx)
	name := md.Get(testCaller)
	if len(name) == 0 {
		return door.With(ctx, door.Caller{})
	}
	return door.With(ctx, door.Caller{ID: identity.ID{Cluster: "test", Role: identity.Agent, Name: name[0]}, Key: keyOf(name[0])})
}

func keyOf(name string) (f identity.Fingerprint) {
	copy(f[:], name)
	return f
}

func (w *world) leadership() door.Leadership {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// lose ends the leadership; another leads from here on.
func (w *world) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
	w.now = door.Leadership{Leader: "c2", Addr: "c2:7170", Changed: w.changed}
}

// Propose applies a transaction at once.
func (w *world) Propose(_ context.Context, t state.Txn) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuses != nil {
		return 0, w.refuses
	}
	return statetest.Apply(w.store, time.Now(), t)
}

func (w *world) put(objects ...model.Object) {
	w.t.Helper()
	statetest.Put(w.t, w, objects...)
}

func (w *world) propose(b *state.Build) {
	w.t.Helper()
	statetest.Propose(w.t, w, b)
}

// node is one that has joined, and not been heard of.
func (w *world) node(name string) {
	w.t.Helper()
	n, st, i := &model.Node{}, &model.NodeStatus{}, &model.Identity{Kind: "agent", Subject: name}
	n.Name, st.Name, i.Name = name, name, keyOf(name).String()
	w.put(n, st, i)
}

func get[T model.Object](w *world, name string) (T, bool) { return state.Get[T](w.store.View(), name) }

// agent is one end of a session.
type agent struct {
	t      *testing.T
	stream grpc.BidiStreamingClient[agentv1.FromAgent, agentv1.ToAgent]
	name   string
}

// connect opens a session of a node, and says hello as another changes it.
func (w *world) connect(name string, change ...func(*agentv1.Hello)) *agent {
	w.t.Helper()
	stream, err := w.client.Session(metadata.AppendToOutgoingContext(w.t.Context(), testCaller, name))
	if err != nil {
		w.t.Fatal(err)
	}
	h := &agentv1.Hello{
		Node: name, HostName: name + ".example", BootId: "boot", AgentVersion: "1", Kernel: "6.1",
		Addresses:    map[string]string{"default": "10.0.0." + name[1:]},
		Health:       "10.0.0." + name[1:] + ":7175",
		Capabilities: &agentv1.Capabilities{Drbd: "8.4", DrbdFull: "8.4.11", Lvm: "2.03"},
	}
	for _, c := range change {
		c(h)
	}
	a := &agent{t: w.t, stream: stream, name: name}
	a.send(&agentv1.FromAgent{Message: &agentv1.FromAgent_Hello{Hello: h}})
	return a
}

func (a *agent) send(m *agentv1.FromAgent) {
	a.t.Helper()
	if err := a.stream.Send(m); err != nil && !errors.Is(err, io.EOF) { // EOF: Recv says why
		a.t.Fatal(err)
	}
}

func (a *agent) report(r *agentv1.Report) {
	a.t.Helper()
	a.send(&agentv1.FromAgent{Message: &agentv1.FromAgent_Report{Report: r}})
}

func (a *agent) recv() *agentv1.ToAgent {
	a.t.Helper()
	m, err := a.stream.Recv()
	if err != nil {
		a.t.Fatalf("agent %s: %v", a.name, err)
	}
	return m
}

// welcome reads the first two messages of a session.
func (a *agent) welcome() (*agentv1.Welcome, *agentv1.Desired) {
	a.t.Helper()
	return a.recv().GetWelcome(), a.recv().GetDesired()
}
