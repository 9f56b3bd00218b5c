// Package layout turns the two numbers of a storage class, FTT and GMDR, into how many replicas a volume has
// and when it may serve.
//
// Rule: the formula decides. D = FTT + GMDR + 1 Diskful replicas; one TieBreaker when D is even and FTT = D/2;
// quorum D/2 + 1; quorumMinimumRedundancy GMDR + 1. Nothing here does I/O or reads a clock.
package layout
