package webtest

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	adminv1 "rvol/proto/admin/v1"
)

// Cluster is what there is to see.
type Cluster struct {
	mu       sync.Mutex
	status   *adminv1.ClusterStatus
	nodes    []*adminv1.Node
	lvgs     []*adminv1.LVG
	volumes  map[string]*adminv1.Volume
	events   []*adminv1.Event
	index    uint64
	refusal  error
	watchers map[chan *adminv1.Change]bool
}

// New makes an empty cluster of one coordinator.
func New() *Cluster {
	return &Cluster{
		status:   &adminv1.ClusterStatus{Id: "prod", Leader: "c1", Term: 4, AnsweredBy: "c1", Members: []*adminv1.Member{{Name: "c1", Voter: true, Leader: true}}},
		volumes:  map[string]*adminv1.Volume{},
		watchers: map[chan *adminv1.Change]bool{},
	}
}

// Add shows nodes and volume groups, before anybody looks.
func (c *Cluster) Add(nodes []*adminv1.Node, lvgs []*adminv1.LVG) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes, c.lvgs = append(c.nodes, nodes...), append(c.lvgs, lvgs...)
}

// Put changes volumes, and tells of it.
func (c *Cluster) Put(volumes ...*adminv1.Volume) {
	for _, v := range volumes {
		name := v.GetMeta().GetName()
		c.mu.Lock()
		c.volumes[name] = v
		c.mu.Unlock()
		c.tell("volume", name)
	}
}

// Remove takes a volume away.
func (c *Cluster) Remove(name string) {
	c.mu.Lock()
	delete(c.volumes, name)
	c.mu.Unlock()
	c.tell("volume", name)
}

// Happened adds an event.
func (c *Cluster) Happened(e *adminv1.Event) {
	c.mu.Lock()
	c.index++
	e.Index = c.index
	c.events = append(c.events, e)
	c.mu.Unlock()
	c.tell("operation", "x")
}

// Refuse lets every call fail, as a person who may no longer look is refused; nil: no longer.
func (c *Cluster) Refuse(err error) {
	c.mu.Lock()
	c.refusal = err
	c.mu.Unlock()
	c.tell("identity", "x")
}

func (c *Cluster) tell(kind, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index++
	for w := range c.watchers {
		select {
		case w <- &adminv1.Change{Index: c.index, Kind: kind, Name: name}:
		default: // a test that changes so much at once asks for everything
			<-w
			w <- &adminv1.Change{Index: c.index}
		}
	}
}

// Conn serves the cluster until the test ends.
func (c *Cluster) Conn(t *testing.T) grpc.ClientConnInterface {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		c.mu.Lock()
		err := c.refusal
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
		return next(ctx, in)
	}))
	adminv1.RegisterClusterServer(s, clusterAPI{c: c})
	adminv1.RegisterNodesServer(s, nodesAPI{c: c})
	adminv1.RegisterLVGsServer(s, lvgsAPI{c: c})
	adminv1.RegisterVolumesServer(s, volumesAPI{c: c})
	adminv1.RegisterEventsServer(s, eventsAPI{c: c})
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(l) }) // it ends when it is stopped
	conn, err := grpc.NewClient("passthrough:///cluster", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close() // nobody asks any more
		s.Stop()
		running.Wait()
	})
	return conn
}

type clusterAPI struct {
	adminv1.UnimplementedClusterServer
	c *Cluster
}

func (a clusterAPI) Status(context.Context, *adminv1.ClusterStatusRequest) (*adminv1.ClusterStatus, error) {
	return a.c.status, nil
}

type nodesAPI struct {
	adminv1.UnimplementedNodesServer
	c *Cluster
}

func (a nodesAPI) List(context.Context, *adminv1.ListRequest) (*adminv1.ListNodesResponse, error) {
	return &adminv1.ListNodesResponse{Nodes: a.c.nodes}, nil
}

type lvgsAPI struct {
	adminv1.UnimplementedLVGsServer
	c *Cluster
}

func (a lvgsAPI) List(context.Context, *adminv1.ListRequest) (*adminv1.ListLVGsResponse, error) {
	return &adminv1.ListLVGsResponse{Lvgs: a.c.lvgs}, nil
}

type volumesAPI struct {
	adminv1.UnimplementedVolumesServer
	c *Cluster
}

func (a volumesAPI) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListVolumesResponse, error) {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	out := &adminv1.ListVolumesResponse{}
	for name, v := range a.c.volumes {
		if len(q.GetNames()) == 0 || slices.Contains(q.GetNames(), name) {
			out.Volumes = append(out.Volumes, v)
		}
	}
	return out, nil
}

type eventsAPI struct {
	adminv1.UnimplementedEventsServer
	c *Cluster
}

func (a eventsAPI) List(_ context.Context, q *adminv1.ListEventsRequest) (*adminv1.ListEventsResponse, error) {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	out := &adminv1.ListEventsResponse{}
	for _, e := range a.c.events {
		if e.GetIndex() > q.GetSince() || e.GetIndex() == q.GetSince() && e.GetNumber() >= q.GetSinceNumber() {
			out.Events = append(out.Events, e)
		}
	}
	return out, nil
}

func (a eventsAPI) Changes(_ *adminv1.ChangesRequest, stream grpc.ServerStreamingServer[adminv1.Change]) error {
	news := make(chan *adminv1.Change, 1000)
	a.c.mu.Lock()
	a.c.watchers[news] = true
	a.c.mu.Unlock()
	defer func() {
		a.c.mu.Lock()
		defer a.c.mu.Unlock()
		delete(a.c.watchers, news)
	}()
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	for {
		select {
		case n := <-news:
			if err := stream.Send(n); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}
