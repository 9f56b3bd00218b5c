package monitoring

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"rvol/cmd/internal/lab/sim"
)

// TestACoordinatorWithoutAMajorityIsNotReady takes the power of two of three: the third lives, and says
// on both doors that it cannot work. An agent needs none of them to be ready.
func TestACoordinatorWithoutAMajorityIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		conn, err := c.Dial(t.Context(), "n1:7170")
		if err != nil {
			t.Fatal(err)
		}
		if conn, ok := conn.(interface{ Close() error }); ok {
			defer func() { _ = conn.Close() }() // the test is over
		}
		client := healthv1.NewHealthClient(conn)
		watch, err := client.Watch(t.Context(), &healthv1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		next := func() healthv1.HealthCheckResponse_ServingStatus {
			m, err := watch.Recv()
			if err != nil {
				t.Fatal(err)
			}
			return m.GetStatus()
		}
		if got := next(); got != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("a cluster at rest: %s", got)
		}
		for _, n := range []string{"n2", "n3"} {
			if err := c.Kill(n); err != nil {
				t.Fatal(err)
			}
		}
		if got := next(); got != healthv1.HealthCheckResponse_NOT_SERVING {
			t.Errorf("without a majority: %s", got)
		}
		time.Sleep(time.Minute)
		answer, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{})
		if err != nil || answer.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
			t.Errorf("without a majority: %s, %v", answer.GetStatus(), err)
		}
		if _, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: "rvol.admin.v1.Moon"}); err == nil {
			t.Error("a service that nobody knows is healthy")
		}
		f, _ := scrape(t, c, "n1", sim.CoordinatorMetricsPort)
		if f.value(t, "rvol_raft_leader") != 0 || f.value(t, "rvol_raft_leader_known") != 0 || len(f["rvol_volumes"].GetMetric()) != 0 {
			t.Error("it tells of the cluster as if it led")
		}
		f, _ = scrape(t, c, "n1", sim.AgentMetricsPort)
		if f.value(t, "rvol_agent_session_connected") != 0 {
			t.Error("the agent tells of a session with nobody")
		}
		for _, tc := range []struct {
			port int
			path string
			code int
			says string
		}{
			{sim.CoordinatorMetricsPort, "/livez", http.StatusOK, "ok"},
			{sim.CoordinatorMetricsPort, "/readyz", http.StatusServiceUnavailable, "no leader"},
			{sim.AgentMetricsPort, "/livez", http.StatusOK, "ok"},
			{sim.AgentMetricsPort, "/readyz", http.StatusOK, "ok"},
		} {
			if code, text := get(t, c, "n1", tc.port, tc.path); code != tc.code || !strings.Contains(text, tc.says) {
				t.Errorf("port %d %s: %d %q, want %d %q", tc.port, tc.path, code, text, tc.code, tc.says)
			}
		}
	})
}
