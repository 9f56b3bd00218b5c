// Package agents is the agents' door: joining, renewing, and the session, in which orders
// go out and reports come in.
//
// Its rule: a session belongs to one goroutine, and to one leadership. What it hears goes
// to the inventory; only registrations and results of operations enter the log. A slow
// agent holds up nobody but itself.
package agents
