package probe

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry makes a registry of a program's own, with the Go runtime, the process and the
// version in it.
func NewRegistry(program, version string) *prometheus.Registry {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "rvol_build_info", Help: "Version of the program; always 1.",
		ConstLabels: prometheus.Labels{"program": program, "version": strings.ToValidUTF8(version, "?")},
	})
	info.Set(1)
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// A Set is gauges whose values are read when they are asked for.
type Set struct{ descs []*prometheus.Desc }

// Gauge is one name of a Set.
type Gauge struct{ desc *prometheus.Desc }

// Gauge adds a name.
func (s *Set) Gauge(name, help string, labels ...string) Gauge {
	d := prometheus.NewDesc(name, help, labels, nil)
	s.descs = append(s.descs, d)
	return Gauge{d}
}

// Describe is what a registry asks a collector first.
func (s *Set) Describe(out chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		out <- d
	}
}

// Is tells one value; the labels are in the order of the Gauge's.
func (g Gauge) Is(out chan<- prometheus.Metric, value float64, labels ...string) {
	for i := range labels {
		labels[i] = strings.ToValidUTF8(labels[i], "?")
	}
	m, err := prometheus.NewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(g.desc, err)
	}
	out <- m
}

// One is 1 for what is so, and 0 for what is not.
func One(so bool) float64 {
	if so {
		return 1
	}
	return 0
}
