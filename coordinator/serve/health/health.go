package health

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// period is how often a watcher's answer is looked at again.
const period = time.Second

// service answers grpc.health.v1.
type service struct {
	healthv1.UnimplementedHealthServer
	ready func(context.Context) error
}

// Service registers the health service with a server; ready says why it cannot work now.
func Service(ready func(context.Context) error) func(grpc.ServiceRegistrar) {
	return func(r grpc.ServiceRegistrar) { healthv1.RegisterHealthServer(r, &service{ready: ready}) }
}

// Check says whether the coordinator is ready.
func (s *service) Check(ctx context.Context, q *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	if q.GetService() != "" {
		return nil, status.Errorf(codes.NotFound, "only the whole server is known, not %q", q.GetService())
	}
	return &healthv1.HealthCheckResponse{Status: s.now(ctx)}, nil
}

// List says the same for the one service there is.
func (s *service) List(ctx context.Context, _ *healthv1.HealthListRequest) (*healthv1.HealthListResponse, error) {
	return &healthv1.HealthListResponse{Statuses: map[string]*healthv1.HealthCheckResponse{"": {Status: s.now(ctx)}}}, nil
}

// Watch tells whenever that changes.
func (s *service) Watch(q *healthv1.HealthCheckRequest, stream grpc.ServerStreamingServer[healthv1.HealthCheckResponse]) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	told := healthv1.HealthCheckResponse_UNKNOWN
	for ctx := stream.Context(); ; {
		now := healthv1.HealthCheckResponse_SERVICE_UNKNOWN // as the protocol has it
		if q.GetService() == "" {
			now = s.now(ctx)
		}
		if now != told {
			if err := stream.Send(&healthv1.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			told = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *service) now(ctx context.Context) healthv1.HealthCheckResponse_ServingStatus {
	if s.ready(ctx) != nil {
		return healthv1.HealthCheckResponse_NOT_SERVING
	}
	return healthv1.HealthCheckResponse_SERVING
}
