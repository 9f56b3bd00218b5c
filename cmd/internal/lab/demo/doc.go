// Package demo tells rvol's main job on the nodes of a lab: a volume is made, used, outlives the machine that used it, and goes without
// a trace.
//
// Its rule: what it shows is what it does. Each command is printed before it runs, and nothing runs that is not printed but
// questions whose answers are printed.
package demo
