// Package eligibility says which nodes may hold replicas of a pool, and whether those nodes can hold a class.
//
// Rule: what is not known is kept: a node without a verdict stays in the list, marked not ready, and a pool whose
// configuration is invalid keeps the list it had. Time comes in as durations; there is no clock here.
package eligibility
