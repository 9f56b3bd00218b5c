// Package statetest lets tests of what stands above the state change it without Raft.
//
// Its rule: every transaction is an entry of its own, applied at once.
package statetest
