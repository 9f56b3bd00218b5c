// Package steps proves, step by step, that a volume which is being changed keeps what it
// promises: it holds tests alone.
//
// Its rule: the plans, the orders made of them, the agents' decisions and the simulated
// kernel are the real ones; only placement and the passing of orders are the test's own, so
// that it can stop between any two of them and take nodes away.
package steps
