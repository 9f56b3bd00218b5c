// Package audit keeps, on one coordinator's disk, what package state says of every
// transaction: who, why, when, which objects, and what became of it.
//
// Its rule: never skip in silence. Headers are chained by hash, so that a reader sees
// what was altered; a reader that asks for what is no longer here is told so
// (model.ErrCompacted). The trail is derived: Raft replays what a crash has cut off, and a
// disk that fails here stops the trail, not the coordinator.
package audit
