package metrics

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rvol/agent/host"
)

// tools counts the tools that are run.
type tools struct {
	seconds  *prometheus.HistogramVec
	failures *prometheus.CounterVec
	running  prometheus.Gauge
}

func newTools() *tools {
	return &tools{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rvol_agent_tool_seconds", Help: "How long tools of LVM and DRBD run, by what they may do: look, act, write a whole device (long), change LVM.",
			Buckets: []float64{.005, .02, .1, .5, 2, 10, 60, 600},
		}, []string{"tool", "class"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rvol_agent_tool_failures_total", Help: "Tools that ended with an error, which may be the answer to a question.",
		}, []string{"tool", "verb"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{Name: "rvol_agent_tools_running", Help: "Tools that run now."}),
	}
}

// A Runner runs one tool to its end.
type Runner = func(ctx context.Context, argv ...string) ([]byte, error)

// Runner counts what run runs.
func (m *Metrics) Runner(run Runner) Runner {
	return func(ctx context.Context, argv ...string) ([]byte, error) {
		m.tools.running.Inc()
		defer m.tools.running.Dec()
		began := time.Now()
		out, err := run(ctx, argv...)
		if len(argv) == 0 || errors.Is(err, host.ErrToolMissing) {
			return out, err // nothing ran
		}
		tool, verb := words(argv)
		m.tools.seconds.WithLabelValues(tool, string(host.ClassOf(argv))).Observe(time.Since(began).Seconds())
		if err != nil {
			m.tools.failures.WithLabelValues(tool, verb).Inc()
		}
		return out, err
	}
}

// known are the tools and verbs that are told by name; all else is "other". What else stands in a
// command line is names, sizes and devices.
var known = struct{ tools, verbs []string }{
	tools: []string{
		"drbdadm", "drbdsetup", "drbdmeta", "lvm", "lvs", "pvs", "vgs", "lvchange", "lvcreate", "lvextend", "lvremove", "lvrename",
		"pvcreate", "vgchange", "vgcreate", "vgextend", "wipefs", "blkid", "blkdiscard",
	},
	verbs: []string{
		"adjust", "attach", "check-resize", "connect", "create-md", "cstate", "del-minor", "del-peer", "detach", "disconnect", "down",
		"dstate", "dump", "dump-md", "events2", "forget-peer", "get-gi", "invalidate", "new-current-uuid", "new-minor", "new-peer",
		"new-resource", "primary", "read-dev-uuid", "resize", "resume-io", "role", "secondary", "sh-nop", "show", "show-gi", "status",
		"suspend-io", "up", "verify", "wipe-md", "write-dev-uuid",
	},
}

// words are a command line's tool and verb; LVM's tools have none.
func words(argv []string) (tool, verb string) {
	tool, verb = "other", ""
	if slices.Contains(known.tools, argv[0]) {
		tool = argv[0]
	}
	if tool != "drbdadm" && tool != "drbdsetup" && tool != "drbdmeta" {
		return tool, verb
	}
	for _, word := range argv[1:] {
		if slices.Contains(known.verbs, word) {
			return tool, word
		}
	}
	return tool, "other"
}

// Describe is what a registry asks first.
func (t *tools) Describe(out chan<- *prometheus.Desc) {
	t.seconds.Describe(out)
	t.failures.Describe(out)
	t.running.Describe(out)
}

// Collect is what a scrape asks for.
func (t *tools) Collect(out chan<- prometheus.Metric) {
	t.seconds.Collect(out)
	t.failures.Collect(out)
	t.running.Collect(out)
}
