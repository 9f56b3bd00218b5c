// Package bench measures rvol against what it wraps, both sides in one run on the same machines, and prints one line for each ratio.
//
// It has benchmarks only: make bench runs them.
package bench
