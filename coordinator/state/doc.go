// Package state is what the coordinators decided: replicated memory that accepts
// transactions and refuses those that break a constraint.
//
// Its rule: deterministic. No clock, no dice, no I/O but the streams handed in; the same
// log gives the same bytes on every coordinator for ever. It knows no Raft library.
//
// Whatever changes what is accepted or hashed (a new kind, a field that a constraint
// reads, another limit) is a new format: it is judged by the format in force, which a
// transaction raises once every member serves it. The words of a refusal are no part of
// the state and may change freely.
package state
