// Package consensus makes the coordinators agree on one log, with hashicorp/raft and
// raft-boltdb, and feeds it to a state.Store.
//
// Its rule: a disk that failed once is never trusted again. The stores below Raft are
// wrapped: the first write or sync error stays, every later write fails, and the owner of
// the process is told to end it. Raft alone would elect itself again and acknowledge
// writes on the same file.
//
// The transport is an argument, so that whole clusters run in one process on virtual time.
package consensus
