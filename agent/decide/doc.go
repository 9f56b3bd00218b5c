// Package decide compares what a node must hold with what it holds, and says
// which commands lessen the difference, in which order, for one resource at a
// time.
//
// Its rule: it is pure. The same [Input] gives the same [Plan] for ever; it
// has no clock, no I/O and no log, and it never asks for anything destructive
// on the strength of knowledge that is missing. What it refuses, it refuses
// with a reason for people, a [Refusal].
//
//	plan := decide.Next(decide.Input{Desired: order, Observed: seen, Facts: journal}, "rvol-db-1")
//	for _, step := range plan.Steps { ... }
package decide
