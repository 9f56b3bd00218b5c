// Package allocation is the arithmetic of capacity: how much one LVG or thin pool may promise, how much it has
// promised, and whether one more promise fits.
//
// Rule: integers only, rounded against the asker (limits down, sizes up), the same answer on every coordinator for
// ever: the state machine calls this inside Apply. All sizes are bytes.
package allocation
