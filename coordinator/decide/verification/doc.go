// Package verification decides when the copies of a volume are compared with each other, with
// which of them, and what is copied when they differ. Copies are compared one after the other
// with one source; what differs is copied only when somebody said so, only from a source that
// is UpToDate, and never over a copy that is in use.
//
// It is pure: no clock, no I/O, no log.
package verification
