// Package metrics tells monitoring how a coordinator and its cluster are.
//
// Its rule: everything is read when a scrape asks for it, and of volumes, nodes and space it knows
// what the admin API answers, so that a graph and `rvol` never disagree. Members tell of
// themselves and of Raft; the leader alone tells of the cluster. A label is the name of an object
// or one of a fixed list of words, never a sentence.
package metrics
