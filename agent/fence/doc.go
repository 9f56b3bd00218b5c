// Package fence asks the coordinators whether one copy of a volume may go on
// without the other, on DRBD 8.4, whose kernel has no quorum of its own.
//
// Its rule: no answer is a no. The kernel freezes I/O first and asks then;
// what it is told lets I/O go on only after the grant is committed.
package fence
