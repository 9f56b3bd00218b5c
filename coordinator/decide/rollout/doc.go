// Package rollout says which volumes of a class are to be changed next, how many at a time, and what a change of
// their configuration asks of each.
//
// Rule: a volume that is under way keeps its slot until it is done, however long that takes; the others share the rest.
// What a volume has is never taken for what it should have.
package rollout
