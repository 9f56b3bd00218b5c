package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rvol/coordinator/control"
	"rvol/proto/probe"
)

// controllers is how the controllers fare on this coordinator while it leads.
type controllers struct {
	set          probe.Set
	ready, later probe.Gauge
	seconds      *prometheus.HistogramVec
	results      *prometheus.CounterVec

	mu     sync.Mutex
	queues map[string]func() (ready, later int)
}

var _ control.Meter = (*controllers)(nil)

func newControllers() *controllers {
	c := &controllers{queues: map[string]func() (int, int){}}
	c.ready = c.set.Gauge("rvol_controller_queue_keys", "Keys that wait for their turn.", "controller")
	c.later = c.set.Gauge("rvol_controller_delayed_keys", "Keys that will be looked at again later.", "controller")
	c.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "rvol_controller_decision_seconds", Help: "How long a decision takes, without the transaction it leads to.", Buckets: buckets,
	}, []string{"controller"})
	c.results = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rvol_controller_decisions_total", Help: "Decisions, by what became of them.",
	}, []string{"controller", "result"})
	return c
}

// Controllers is told how the controllers fare.
func (m *Metrics) Controllers() control.Meter { return m.control }

// Queue is told of a controller that begins; what it returns, of its end.
func (c *controllers) Queue(controller string, depth func() (ready, later int)) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queues[controller] = depth
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.queues, controller)
	}
}

// Decided counts one decision.
func (c *controllers) Decided(controller string, r control.Result, took time.Duration) {
	c.seconds.WithLabelValues(controller).Observe(took.Seconds())
	c.results.WithLabelValues(controller, string(r)).Inc()
}

// Describe is what a registry asks first.
func (c *controllers) Describe(out chan<- *prometheus.Desc) {
	c.set.Describe(out)
	c.seconds.Describe(out)
	c.results.Describe(out)
}

// Collect is what a scrape asks for.
func (c *controllers) Collect(out chan<- prometheus.Metric) {
	c.seconds.Collect(out)
	c.results.Collect(out)
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, depth := range c.queues {
		ready, later := depth()
		c.ready.Is(out, float64(ready), name)
		c.later.Is(out, float64(later), name)
	}
}
