package cli_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "rvol/proto/admin/v1"
)

// fake is a cluster of one coordinator that keeps what it is told.
type fake struct {
	mu      sync.Mutex
	world   world
	refuse  map[string]error                         // method -> what it answers
	head    metadata.MD                              // sent with every answer
	asked   map[string]any                           // method -> its last request
	last    proto.Message                            // the last request
	ids     []string                                 // request ids, in the order of arrival
	changes chan struct{}                            // Changes tells of one change for each
	streams map[string]func(grpc.ServerStream) error // method -> what its stream does
}

func newFake() *fake {
	return &fake{
		world: sampleWorld(), refuse: map[string]error{}, asked: map[string]any{}, changes: make(chan struct{}, 16),
		streams: map[string]func(grpc.ServerStream) error{},
	}
}

// edit changes the world and says so.
func (f *fake) edit(change func(*world)) {
	f.mu.Lock()
	change(&f.world)
	f.mu.Unlock()
	f.changes <- struct{}{}
}

// serve returns a dialer of the fake. "down" is an endpoint at which nobody listens.
func (f *fake) serve(t *testing.T) func(context.Context, string) (grpc.ClientConnInterface, error) {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	f.listen(t, l)
	return func(_ context.Context, endpoint string) (grpc.ClientConnInterface, error) {
		return grpc.NewClient("passthrough:///"+endpoint,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, at string) (net.Conn, error) {
				if at == "down" {
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errRefused}
				}
				return l.DialContext(ctx)
			}))
	}
}

// listen serves the fake on l until the test ends.
func (f *fake) listen(t *testing.T, l net.Listener, opts ...grpc.ServerOption) {
	t.Helper()
	s := grpc.NewServer(append(opts, grpc.UnaryInterceptor(f.unary), grpc.StreamInterceptor(f.stream))...)
	adminv1.RegisterClusterServer(s, fakeCluster{f: f})
	adminv1.RegisterTokensServer(s, fakeTokens{f: f})
	adminv1.RegisterEventsServer(s, fakeEvents{f: f})
	adminv1.RegisterNodesServer(s, fakeNodes{f: f})
	adminv1.RegisterLVGsServer(s, fakeLVGs{f: f})
	adminv1.RegisterPoolsServer(s, fakePools{f: f})
	adminv1.RegisterClassesServer(s, fakeClasses{f: f})
	adminv1.RegisterVolumesServer(s, fakeVolumes{f: f})
	adminv1.RegisterReplicasServer(s, fakeReplicas{f: f})
	adminv1.RegisterAttachmentsServer(s, fakeAttachments{f: f})
	adminv1.RegisterOperationsServer(s, fakeOperations{f: f})
	adminv1.RegisterPlansServer(s, fakePlans{f: f})
	adminv1.RegisterHoldsServer(s, fakeHolds{})
	adminv1.RegisterCertificatesServer(s, fakeCertificates{})
	adminv1.RegisterAuditServer(s, fakeAudit{f: f})
	adminv1.RegisterQuotasServer(s, fakeQuotas{})
	adminv1.RegisterOrphansServer(s, fakeOrphans{})
	adminv1.RegisterSupportServer(s, fakeSupport{f: f})
	adminv1.RegisterObjectsServer(s, fakeObjects{f: f})
	adminv1.RegisterDashboardServer(s, fakeDashboard{})
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() { s.Stop(); running.Wait() })
}

type connection = grpc.ClientConnInterface

type refused struct{}

func (refused) Error() string { return "connection refused" }

var errRefused = refused{}

func (f *fake) unary(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[info.FullMethod] = in
	f.last, _ = in.(proto.Message)
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		f.ids = append(f.ids, md.Get("rvol-request-id")...)
	}
	if err := grpc.SetHeader(ctx, f.head); err != nil {
		return nil, err
	}
	if err := f.refuse[info.FullMethod]; err != nil {
		return nil, err
	}
	out, err := next(ctx, in)
	if err != nil {
		return nil, err
	}
	return proto.Clone(out.(proto.Message)), nil // it is written after the lock is given up
}

func (f *fake) stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	f.mu.Lock()
	do, err := f.streams[info.FullMethod], f.refuse[info.FullMethod]
	f.mu.Unlock()
	switch {
	case err != nil:
		return err
	case do != nil:
		return do(s)
	}
	return next(srv, s)
}

// refusal is an error as the server makes it.
func refusal(code codes.Code, message string, r *adminv1.Refusal) error {
	s, err := status.New(code, message).WithDetails(r)
	if err != nil {
		panic(err)
	}
	return s.Err()
}

type meta interface{ GetMeta() *adminv1.Meta }

// pick returns the objects that a request names, or all.
func pick[T meta](q *adminv1.ListRequest, all []T) []T {
	if len(q.GetNames()) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(o T) bool { return !slices.Contains(q.GetNames(), o.GetMeta().GetName()) })
}

func find[T meta](kind string, all []T, name string) (T, error) {
	for _, o := range all {
		if o.GetMeta().GetName() == name {
			return o, nil
		}
	}
	var none T
	return none, refusal(codes.NotFound, kind+" "+name+": not found", &adminv1.Refusal{Object: kind + "/" + name})
}

type fakeCluster struct {
	adminv1.UnimplementedClusterServer
	f *fake
}

func (c fakeCluster) Status(context.Context, *adminv1.ClusterStatusRequest) (*adminv1.ClusterStatus, error) {
	return c.f.world.cluster, nil
}

func (c fakeCluster) TransferLeadership(context.Context, *adminv1.TransferLeadershipRequest) (*adminv1.Done, error) {
	return &adminv1.Done{Revision: 99, Message: "transferred to c2"}, nil
}

func (c fakeCluster) RemoveMember(context.Context, *adminv1.DeleteRequest) (*adminv1.Done, error) {
	return &adminv1.Done{Revision: 99, Message: "removed"}, nil
}

func (c fakeCluster) SaveSnapshot(_ *adminv1.SaveSnapshotRequest, s grpc.ServerStreamingServer[adminv1.SnapshotChunk]) error {
	for _, part := range []string{"state ", "and keys"} {
		if err := s.Send(&adminv1.SnapshotChunk{Data: []byte(part)}); err != nil {
			return err
		}
	}
	return nil
}

type fakeTokens struct {
	adminv1.UnimplementedTokensServer
	f *fake
}

func (c fakeTokens) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListTokensResponse, error) {
	return &adminv1.ListTokensResponse{Tokens: pick(q, c.f.world.tokens)}, nil
}

func (c fakeTokens) Create(_ context.Context, r *adminv1.CreateTokenRequest) (*adminv1.CreatedToken, error) {
	t := &adminv1.Token{Meta: newMeta("t9"), Kind: r.GetKind(), Subject: r.GetSubject(), ExpiresAt: at(-15 * minute)}
	return &adminv1.CreatedToken{Token: t, Text: "rvol1-secret-text"}, nil
}

func (c fakeTokens) Delete(_ context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	_, err := find("token", c.f.world.tokens, r.GetName())
	return &adminv1.Done{Revision: 99}, err
}

type fakeEvents struct {
	adminv1.UnimplementedEventsServer
	f *fake
}

func (c fakeEvents) List(context.Context, *adminv1.ListEventsRequest) (*adminv1.ListEventsResponse, error) {
	return &adminv1.ListEventsResponse{Events: c.f.world.events}, nil
}

func (c fakeEvents) Changes(_ *adminv1.ChangesRequest, s grpc.ServerStreamingServer[adminv1.Change]) error {
	for {
		select {
		case <-c.f.changes:
			if err := s.Send(&adminv1.Change{}); err != nil {
				return err
			}
		case <-s.Context().Done():
			return s.Context().Err()
		}
	}
}

type fakeNodes struct {
	adminv1.UnimplementedNodesServer
	f *fake
}

func (c fakeNodes) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListNodesResponse, error) {
	return &adminv1.ListNodesResponse{Nodes: pick(q, c.f.world.nodes)}, nil
}

func (c fakeNodes) Set(_ context.Context, r *adminv1.SetNodeRequest) (*adminv1.Node, error) {
	return find("node", c.f.world.nodes, r.GetName())
}

func (c fakeNodes) Fence(_ context.Context, r *adminv1.FenceNodeRequest) (*adminv1.FenceNodeResponse, error) {
	n, err := find("node", c.f.world.nodes, r.GetName())
	answer := &adminv1.FenceNodeResponse{Node: n}
	if !r.GetUndo() {
		answer.Released = []string{"db-1"}
	}
	return answer, err
}

func (c fakeNodes) Delete(_ context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	_, err := find("node", c.f.world.nodes, r.GetName())
	return &adminv1.Done{Revision: 99}, err
}

type fakeLVGs struct {
	adminv1.UnimplementedLVGsServer
	f *fake
}

func (c fakeLVGs) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListLVGsResponse, error) {
	return &adminv1.ListLVGsResponse{Lvgs: pick(q, c.f.world.lvgs)}, nil
}

func (c fakeLVGs) Create(_ context.Context, r *adminv1.CreateLVGRequest) (*adminv1.LVG, error) {
	g := &adminv1.LVG{Meta: newMeta(r.GetNode() + "/" + r.GetVg()), Node: r.GetNode(), Vg: r.GetVg()}
	c.f.world.lvgs = append(c.f.world.lvgs, g)
	return g, nil
}

func (c fakeLVGs) Set(_ context.Context, r *adminv1.SetLVGRequest) (*adminv1.LVG, error) {
	return find("lvg", c.f.world.lvgs, r.GetName())
}

func (c fakeLVGs) Lost(_ context.Context, r *adminv1.DeleteRequest) (*adminv1.LostLVGResponse, error) {
	_, err := find("lvg", c.f.world.lvgs, r.GetName())
	return &adminv1.LostLVGResponse{Revision: 99, Forgotten: []string{"n1/vg0/rvol-db-5.0.0"}}, err
}

func (c fakeLVGs) Delete(_ context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	_, err := find("lvg", c.f.world.lvgs, r.GetName())
	return &adminv1.Done{Revision: 99}, err
}

type fakePools struct {
	adminv1.UnimplementedPoolsServer
	f *fake
}

func (c fakePools) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListPoolsResponse, error) {
	return &adminv1.ListPoolsResponse{Pools: pick(q, c.f.world.pools)}, nil
}

func (c fakePools) Create(_ context.Context, p *adminv1.Pool) (*adminv1.Pool, error) { return p, nil }

type fakeClasses struct {
	adminv1.UnimplementedClassesServer
	f *fake
}

func (c fakeClasses) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListClassesResponse, error) {
	return &adminv1.ListClassesResponse{Classes: pick(q, c.f.world.classes)}, nil
}

func (c fakeClasses) Create(_ context.Context, r *adminv1.Class) (*adminv1.Class, error) {
	r.Layout = "2D"
	return r, nil
}

func (c fakeClasses) Set(_ context.Context, r *adminv1.SetClassRequest) (*adminv1.Class, error) {
	return find("class", c.f.world.classes, r.GetName())
}

type fakeVolumes struct {
	adminv1.UnimplementedVolumesServer
	f *fake
}

func (c fakeVolumes) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListVolumesResponse, error) {
	return &adminv1.ListVolumesResponse{Volumes: pick(q, c.f.world.volumes)}, nil
}

func (c fakeVolumes) Create(_ context.Context, r *adminv1.CreateVolumeRequest) (*adminv1.Volume, error) {
	if _, err := find("class", c.f.world.classes, r.GetClass()); err != nil {
		return nil, err
	}
	v := &adminv1.Volume{Meta: newMeta(r.GetName()), Class: r.GetClass(), State: "forming"}
	for i, size := range r.GetSizes() {
		v.Devices = append(v.Devices, &adminv1.VolumeDevice{Number: int32(i), Size: (size + 4095) / 4096 * 4096})
	}
	c.f.world.volumes = append(c.f.world.volumes, v)
	return v, nil
}

func (c fakeVolumes) Set(_ context.Context, r *adminv1.SetVolumeRequest) (*adminv1.Volume, error) {
	return find("volume", c.f.world.volumes, r.GetName())
}

func (c fakeVolumes) Delete(_ context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	_, err := find("volume", c.f.world.volumes, r.GetName())
	return &adminv1.Done{Revision: 99, Message: "is being deleted"}, err
}

func (c fakeVolumes) Attach(_ context.Context, r *adminv1.AttachRequest) (*adminv1.Attachment, error) {
	if _, err := find("volume", c.f.world.volumes, r.GetVolume()); err != nil {
		return nil, err
	}
	a := &adminv1.Attachment{Meta: newMeta(r.GetVolume() + "/" + r.GetNode()), Volume: r.GetVolume(), Node: r.GetNode()}
	c.f.world.attachments = append(c.f.world.attachments, a)
	return a, nil
}

func (c fakeVolumes) Detach(_ context.Context, r *adminv1.AttachRequest) (*adminv1.Done, error) {
	a, err := find("attachment", c.f.world.attachments, r.GetVolume()+"/"+r.GetNode())
	if err == nil {
		a.Meta.DeletingSince = timestamppb.Now()
	}
	return &adminv1.Done{Revision: 99}, err
}

type fakeReplicas struct {
	adminv1.UnimplementedReplicasServer
	f *fake
}

func (c fakeReplicas) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListReplicasResponse, error) {
	return &adminv1.ListReplicasResponse{Replicas: pick(q, c.f.world.replicas())}, nil
}

type fakeAttachments struct {
	adminv1.UnimplementedAttachmentsServer
	f *fake
}

func (c fakeAttachments) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListAttachmentsResponse, error) {
	return &adminv1.ListAttachmentsResponse{Attachments: pick(q, c.f.world.attachments)}, nil
}

type fakeOperations struct {
	adminv1.UnimplementedOperationsServer
	f *fake
}

func (c fakeOperations) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListOperationsResponse, error) {
	return &adminv1.ListOperationsResponse{Operations: pick(q, c.f.world.operations)}, nil
}

// lastAsked is the request of the last call that was not only made to show or to help.
func (f *fake) lastAsked() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		return ""
	}
	return prototext.MarshalOptions{}.Format(f.last)
}
