// Package scheduling picks a node, and for a Diskful an LVG, for every replica of a volume that has none.
//
// All Diskful first, then all TieBreakers. For each: candidates (node×LVG, or nodes), rules that exclude,
// capacity that rates, scores that prefer, the best. Every later replica sees the earlier ones. Where the rules leave
// a replica without a place, a search over the whole layout looks for one (search.go).
//
// Rule: a rule is one file and one line in the lists of rules.go. Decisions are pure: the same input gives the same
// placement and the same words, and nothing in the input is written to. All sizes are bytes.
package scheduling
