// Package state is what the coordinators decided: replicated memory that accepts
// transactions and refuses those that break a constraint.
//
// Its rule: deterministic. No clock, no dice, no I/O but the streams handed in; the same
// log gives the same bytes on every coordinator for ever. It knows no Raft library.
package state
