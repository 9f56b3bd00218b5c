// Package cases answers written cases of placement, one JSON object a line: where does each replica go?
//
// Rule: it reads, runs scheduling by the rules alone, and writes; it decides nothing.
package cases
