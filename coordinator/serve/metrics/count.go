package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// buckets are upper bounds in seconds, from what memory takes to what an election takes.
var buckets = []float64{.0001, .0005, .0025, .01, .05, .25, 1, 5, 30}

// transactions counts what became of what this coordinator proposed.
type transactions struct {
	prometheus.Collector
	total   *prometheus.CounterVec
	seconds prometheus.Histogram
}

func newTransactions() *transactions {
	t := &transactions{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rvol_transactions_total", Help: "Transactions that this coordinator proposed, by what became of them.",
		}, []string{"result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rvol_transaction_seconds", Help: "How long a transaction takes from its proposal until it is in force or refused.", Buckets: buckets,
		}),
	}
	t.Collector = both{t.total, t.seconds}
	return t
}

// Proposer counts what p takes and refuses.
func (m *Metrics) Proposer(p state.Proposer) state.Proposer { return proposer{p, m.txns} }

type proposer struct {
	state.Proposer
	t *transactions
}

// Propose proposes t.
func (p proposer) Propose(ctx context.Context, t state.Txn) (uint64, error) {
	began := time.Now()
	rev, err := p.Proposer.Propose(ctx, t)
	p.t.seconds.Observe(time.Since(began).Seconds())
	p.t.total.WithLabelValues(resultOf(err)).Inc()
	return rev, err
}

// resultOf is an outcome in a word.
func resultOf(err error) string {
	if err == nil {
		return "taken"
	}
	for _, r := range []struct {
		kind error
		word string
	}{
		{model.ErrUnknown, "unknown"},
		{model.ErrNoSpace, "no_space"},
		{model.ErrConflict, "conflict"},
		{model.ErrExists, "exists"},
		{model.ErrBusy, "busy"},
		{model.ErrForbidden, "forbidden"},
		{model.ErrInvalid, "invalid"},
		{model.ErrUnavailable, "unavailable"},
	} {
		if errors.Is(err, r.kind) {
			return r.word
		}
	}
	return "failed"
}

// calls counts the calls of the APIs.
type calls struct {
	prometheus.Collector
	total   *prometheus.CounterVec
	seconds prometheus.Histogram
}

func newCalls() *calls {
	c := &calls{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rvol_api_calls_total", Help: "Calls of the APIs that this coordinator has answered, by call and gRPC code.",
		}, []string{"method", "code"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rvol_api_call_seconds", Help: "How long calls with one answer take.", Buckets: buckets,
		}),
	}
	c.Collector = both{c.total, c.seconds}
	return c
}

// Called counts one call; took is 0 for one with many answers.
func (m *Metrics) Called(method string, code codes.Code, took time.Duration) {
	m.calls.total.WithLabelValues(method, code.String()).Inc()
	if took > 0 {
		m.calls.seconds.Observe(took.Seconds())
	}
}

// both is two collectors as one.
type both [2]prometheus.Collector

// Describe is what a registry asks first.
func (b both) Describe(out chan<- *prometheus.Desc) { b[0].Describe(out); b[1].Describe(out) }

// Collect is what a scrape asks for.
func (b both) Collect(out chan<- prometheus.Metric) { b[0].Collect(out); b[1].Collect(out) }
