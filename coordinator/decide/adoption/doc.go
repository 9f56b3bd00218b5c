// Package adoption takes a volume back that nodes hold and the state has never heard of: it
// makes the records that describe it as it is.
//
// Its rule: nothing is guessed. What the agents do not agree on, or do not say, is a reason
// to refuse.
package adoption
