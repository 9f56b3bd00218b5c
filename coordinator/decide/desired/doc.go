// Package desired works out what one node must hold, from committed state alone: the
// same index gives the same order on every coordinator.
//
// Its rule: pure. It is the only reader of shared secrets.
package desired
