package monitoring

import (
	"bytes"
	"context"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"rvol/cmd/internal/lab/sim"
	"rvol/drbd/drbdtest"
)

var update = flag.Bool("update", false, "write the golden files")

// newCluster starts nodes n1 to n3, each with a coordinator. It is for a bubble.
func newCluster(t *testing.T) *sim.Scripted {
	t.Helper()
	cl, err := sim.New(sim.Config{Dir: t.TempDir(), Nodes: 3, DRBD: drbdtest.V9, Version: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cl.Close() }) // the test is over
	if err := cl.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sim.NewScripted(cl)
}

// rvol runs the command line.
func rvol(t *testing.T, c *sim.Scripted, line string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := c.Rvol(t.Context(), &out, &errs, strings.Fields(line)); code != 0 {
		t.Fatalf("rvol %s: %d\n%s", line, code, errs.String())
	}
	return out.String()
}

// get asks a daemon, as Prometheus does.
func get(t *testing.T, c *sim.Scripted, node string, port int, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return c.DialRaw(ctx, node, port) },
	}}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(node, strconv.Itoa(port))+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it is read below
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// families is what a daemon tells, by name.
type families map[string]*dto.MetricFamily

func scrape(t *testing.T, c *sim.Scripted, node string, port int) (families, string) {
	t.Helper()
	code, text := get(t, c, node, port, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("metrics of %s: %d: %s", node, code, text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all, text
}

// value is one number of a gauge or counter; labels are "name=value".
func (f families) value(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	for _, m := range f[name].GetMetric() {
		if labelled(m, labels) {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	t.Fatalf("%s %v is not told", name, labels)
	return 0
}

func labelled(m *dto.Metric, want []string) bool {
	n := 0
	for _, l := range m.GetLabel() {
		for _, w := range want {
			if w == l.GetName()+"="+l.GetValue() {
				n++
			}
		}
	}
	return n == len(want)
}

// leader is the node whose coordinator leads, and one whose coordinator follows.
func leader(t *testing.T, c *sim.Scripted) (leads, follows string) {
	t.Helper()
	for _, n := range []string{"n1", "n2", "n3"} {
		f, _ := scrape(t, c, n, sim.CoordinatorMetricsPort)
		if f.value(t, "rvol_raft_leader") == 1 {
			leads = n
		} else {
			follows = n
		}
	}
	if leads == "" || follows == "" {
		t.Fatalf("%q leads, %q follows", leads, follows)
	}
	return leads, follows
}
