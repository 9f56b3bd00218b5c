// Package broken decides about volumes that do not heal by themselves: copies that were both
// written alone, and copies that are not good by their own account while the better ones are
// gone. It says what would be lost, and refuses what could lose more than somebody means to.
//
// It is pure: no clock, no I/O, no log.
package broken
