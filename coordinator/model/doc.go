// Package model holds the words of rvol: plain structs for every object the
// coordinators remember, the keys they live under, and the errors everyone uses.
//
// Its rule: values only. No I/O, no clock, no decision. Every object is stored as
// JSON; reading keeps fields this binary does not know, writing puts them back
// (see Encode), so that an old coordinator never drops what a newer one wrote.
//
// A noun is cut into records by writer: Node is the operator's, NodeStatus the
// controllers'; Class and ClassStatus, Pool and PoolStatus, Volume and VolumeStatus
// likewise. Each has a key and a revision of its own. What agents merely see
// (connection and disk states, fill levels) is never here: package inventory has it.
package model
