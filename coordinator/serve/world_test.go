package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/test/bufconn"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// world is a CA, the keys it knows, and servers in memory.
type world struct {
	t       *testing.T
	ca      *identity.CA
	mu      sync.Mutex
	revoked map[string]bool // names of machines
	servers map[string]*testServer
}

// testServer is one coordinator's doors, whose leadership the test decides.
type testServer struct {
	name     string
	server   *Server
	listener *bufconn.Listener
	cluster  *fakeCluster
	service  *fakePools
	stop     context.CancelFunc
	done     chan error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ca, err := identity.NewCA("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, ca: ca, revoked: map[string]bool{}, servers: map[string]*testServer{}}
}

// source is somebody's credentials; life is for people, and for machines in the past.
func (w *world) source(role identity.Role, name string, issued time.Time) *identity.Source {
	w.t.Helper()
	key, err := identity.GenerateKey()
	if err != nil {
		w.t.Fatal(err)
	}
	id := identity.ID{Cluster: "test", Role: role, Name: name}
	cert, err := w.ca.SignMachine(&key.PublicKey, id, issued)
	if role.Person() {
		cert, err = w.ca.SignPerson(&key.PublicKey, id, issued, time.Hour)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	creds, err := identity.NewCredentials(key, cert, identity.Roots{w.ca.Certificate()})
	if err != nil {
		w.t.Fatal(err)
	}
	return identity.NewSource(creds)
}

func (w *world) known(_ identity.Fingerprint, id identity.ID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.revoked[id.Name] {
		return identity.ErrUnknownKey
	}
	return nil
}

func (w *world) revoke(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revoked[name] = true
}

// serve starts the doors of a coordinator.
func (w *world) serve(name string) *testServer {
	w.t.Helper()
	source := w.source(identity.Server, name, time.Now())
	peers := identity.Peers{
		Allow: identity.AllowRoles(identity.Server, identity.Agent, identity.Viewer, identity.Operator, identity.Admin),
		Known: w.known, Lapsed: func(identity.Peer, error) {},
	}
	s := &testServer{name: name, listener: bufconn.Listen(1 << 20), cluster: newFakeCluster(), service: &fakePools{}, done: make(chan error, 1)}
	s.service.cluster = s.cluster
	server := New(Config{
		In: identity.JoinServerTLS(source, peers), Out: identity.ClientTLS(source, peers), Known: w.known, Cluster: s.cluster,
		Store: state.NewStore(state.Options{}), Dial: w.dial, Log: slog.New(slog.DiscardHandler),
		Services: []func(grpc.ServiceRegistrar){func(r grpc.ServiceRegistrar) {
			adminv1.RegisterPoolsServer(r, s.service)
			adminv1.RegisterEventsServer(r, &fakeEvents{pools: s.service})
			agentv1.RegisterAgentsServer(r, agentv1.UnimplementedAgentsServer{})
		}},
	})
	s.server = server
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { s.done <- server.Serve(ctx, s.listener) }()
	w.servers[name] = s
	w.t.Cleanup(func() {
		stop()
		if err := <-s.done; err != nil {
			w.t.Errorf("server %s: %v", name, err)
		}
	})
	return s
}

func (w *world) dial(ctx context.Context, addr string) (net.Conn, error) {
	s, ok := w.servers[addr]
	if !ok {
		return nil, fmt.Errorf("dial %s: connection refused", addr)
	}
	return s.listener.DialContext(ctx)
}

// connect is a client of one coordinator; a nil source is a stranger.
func (w *world) connect(to string, source *identity.Source) *grpc.ClientConn {
	w.t.Helper()
	config := identity.PinnedTLS(w.ca.Hash(), time.Now)
	if source != nil {
		config = identity.ClientTLS(source, identity.Peers{Allow: identity.AllowRoles(identity.Server)})
	}
	conn, err := grpc.NewClient("passthrough:///"+to, grpc.WithTransportCredentials(credentials.NewTLS(config)), grpc.WithContextDialer(w.dial))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() }) // the test is over
	return conn
}

func (w *world) person(role identity.Role) *identity.Source {
	return w.source(role, "anna", time.Now())
}

// lead makes one server the leader, for all.
func (w *world) lead(name string) {
	for _, s := range w.servers {
		s.cluster.set(door.Leadership{Leading: s.name == name, Leader: name, Addr: name})
	}
}

// fakeCluster is leadership as the test says.
type fakeCluster struct {
	mu      sync.Mutex
	now     door.Leadership
	changed chan struct{}
	read    error
}

func newFakeCluster() *fakeCluster {
	f := &fakeCluster{changed: make(chan struct{})}
	f.now = door.Leadership{Since: time.Now(), Changed: f.changed}
	return f
}

func (f *fakeCluster) Leadership() door.Leadership {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fakeCluster) Read(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read
}

func (f *fakeCluster) set(l door.Leadership) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.changed)
	f.changed = make(chan struct{})
	l.Changed, l.Since = f.changed, time.Now()
	f.now = l
}

// fakePools remembers who called.
type fakePools struct {
	adminv1.UnimplementedPoolsServer
	cluster *fakeCluster
	mu      sync.Mutex
	callers []door.Caller
	block   bool // calls do not end by themselves
}

func (f *fakePools) note(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.callers = append(f.callers, door.From(ctx))
}

func (f *fakePools) last() door.Caller {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.callers) == 0 {
		return door.Caller{}
	}
	return f.callers[len(f.callers)-1]
}

func (f *fakePools) List(ctx context.Context, _ *adminv1.ListRequest) (*adminv1.ListPoolsResponse, error) {
	f.note(ctx)
	return &adminv1.ListPoolsResponse{}, nil
}

func (f *fakePools) Create(ctx context.Context, p *adminv1.Pool) (*adminv1.Pool, error) {
	f.note(ctx)
	if f.block {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	switch p.GetMeta().GetName() {
	case "panic":
		panic("a secret of the heap")
	case "broken":
		return nil, errors.New("a secret of the disk")
	case "there":
		return nil, door.Refuse(model.ErrExists, model.Key{Kind: model.KindPool, Name: "there"}, "exists already", "look at it")
	}
	return p, nil
}

// fakeEvents sends one change, and then waits.
type fakeEvents struct {
	adminv1.UnimplementedEventsServer
	pools *fakePools
}

func (f *fakeEvents) Changes(_ *adminv1.ChangesRequest, stream grpc.ServerStreamingServer[adminv1.Change]) error {
	f.pools.note(stream.Context())
	if err := stream.Send(&adminv1.Change{Index: 1, Kind: "pool", Name: "p"}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}
