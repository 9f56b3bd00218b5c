package monitoring

import (
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"rvol/cmd/internal/lab/sim"
)

// moving are gauges whose value depends on the moment of the scrape.
var moving = regexp.MustCompile(`_index$|_seconds$|_term$|_disk_|_keys$|_entries$`)

// chancy are those that may be told or not: whom clients ask is theirs to choose, and what an agent
// finds not there when it looks is a matter of when.
var chancy = []string{"rvol_api_calls_total", "rvol_agent_tool_failures_total"}

// golden renders what is rvol's own: gauges with their values, where those stand still, counters
// and histograms by their labels alone.
func (f families) golden() string {
	var lines []string
	for name, family := range f {
		if !strings.HasPrefix(name, "rvol_") || slices.Contains(chancy, name) {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				if family.GetType() == dto.MetricType_GAUGE {
					labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
				} else {
					labels = append(labels, l.GetName())
				}
			}
			value := fmt.Sprintf("%.10g", m.GetGauge().GetValue())
			switch {
			case family.GetType() != dto.MetricType_GAUGE:
				value = strings.ToLower(family.GetType().String())
			case moving.MatchString(name):
				value = "~"
			}
			lines = append(lines, fmt.Sprintf("%s{%s} %s\n", name, strings.Join(labels, ","), value))
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}

// lint finds what does not follow the conventions of Prometheus.
func lint(t *testing.T, text string) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "rvol_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestWhatAClusterTells shows all that both daemons tell of a small cluster at rest.
func TestWhatAClusterTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		rvol(t, c, "lvg create n1 vg0")
		rvol(t, c, "lvg create n2 vg1 --thin-pool tp")
		rvol(t, c, "lvg create n2 vg0")
		rvol(t, c, "class create r2 --ftt 1 --gmdr 0 --type LVM --vg vg0")
		rvol(t, c, "volume create db-1 --size 64MiB --class r2 --property note=Planted-1 --wait")
		rvol(t, c, "volume attach db-1 n1 --wait")
		time.Sleep(time.Minute)
		leads, follows := leader(t, c)
		for file, from := range map[string]struct {
			node string
			port int
		}{
			"leader.txt":   {leads, sim.CoordinatorMetricsPort},
			"follower.txt": {follows, sim.CoordinatorMetricsPort},
			"agent.txt":    {"n2", sim.AgentMetricsPort},
		} {
			f, text := scrape(t, c, from.node, from.port)
			compare(t, file, strings.ReplaceAll(f.golden(), `"test"`, `"VERSION"`))
			lint(t, text)
			for secret, what := range secrets(t, c) {
				if strings.Contains(text, secret) {
					t.Errorf("%s tells %s", file, what)
				}
			}
			for _, path := range []string{"/livez", "/readyz"} {
				if code, text := get(t, c, from.node, from.port, path); code != http.StatusOK || text != "ok\n" {
					t.Errorf("%s: %s: %d %q", file, path, code, text)
				}
			}
		}
	})
}

var sharedSecret = regexp.MustCompile(`shared-secret\s+"?([^\s";]+)`)

// secrets are texts that must not be told, and what they are.
func secrets(t *testing.T, c *sim.Scripted) map[string]string {
	t.Helper()
	out := map[string]string{"Planted-1": "a volume's property"}
	for _, n := range c.Nodes() {
		err := filepath.WalkDir(filepath.Join(n.Root, "etc"), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range sharedSecret.FindAllStringSubmatch(string(text), -1) {
				out[m[1]] = "the shared secret of a volume"
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(out) < 2 {
		t.Fatalf("no shared secret was found in the nodes' files, only %v", slices.Collect(maps.Values(out)))
	}
	return out
}
