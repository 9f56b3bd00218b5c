// Package inventory is what agents last saw: soft state, in the leader's memory only,
// empty after every election and filled again by full reports.
//
// Its rule: a missing report is Unknown, never False. Nothing is torn down, released or
// rewritten on the strength of a view that is not full.
package inventory
